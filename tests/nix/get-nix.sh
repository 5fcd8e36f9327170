#!/usr/bin/env bash
# Unpacks Nix from Debian's archive beside the system: nothing is installed, and neither root
# nor a daemon is needed. Which mirror, this machine's apt knows.
#
# usage: get-nix.sh SUITE DIRECTORY    (patchelf must be on the PATH)
set -euo pipefail
suite=$1 target=$(realpath -m "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    printf 'get-nix.sh: %s\n' "$*" >&2
    exit 1
}

command -v apt-get >/dev/null || fail "this is no Debian: have a Nix of 2.26 or newer on the PATH"
# Several lines, of which the first will do; its security archive has the label Debian-Security.
mirror=$(apt-get indextargets --format "\$(REPO_URI)" "Created-By: Packages" "Label: Debian" |
    sed -n 1p)
[ -n "$mirror" ] || fail "apt knows no mirror of Debian: have a Nix of 2.26 or newer on the PATH"

mkdir -p "$work"/{lists/partial,archives/partial,root}
: >"$work/status"
cat >"$work/debian.sources" <<EOF
Types: deb
URIs: $mirror
Suites: $suite
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
EOF
# An apt of its own: no list, no package and no setting of the system's is read or changed.
cat >"$work/apt.conf" <<EOF
Dir::Etc::sourcelist "$work/debian.sources";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State::lists "$work/lists";
Dir::State::status "$work/status";
Dir::Cache "$work";
APT::Install-Recommends "false";
APT::Sandbox::User "";
Acquire::Languages "none";
EOF
export APT_CONFIG=$work/apt.conf
# An empty status file makes apt fetch everything down to the C library.
apt-get -qq -o Debug::NoLocking=1 update
apt-get -qq -o Debug::NoLocking=1 --yes --download-only install nix-bin
for package in "$work"/archives/*.deb; do
    dpkg-deb --extract "$package" "$work/root"
done

rm -rf "$target"
mkdir -p "$target"/{bin,lib}
cp -L "$work/root/usr/bin/nix" "$target/bin/"
loader=$(patchelf --print-interpreter "$target/bin/nix")
cp -aL "$work/root/usr$loader" "$target/lib/" 2>/dev/null || cp -aL "$work/root$loader" "$target/lib/"
find "$work/root/usr/lib" -maxdepth 2 -name '*.so*' ! -type d -exec cp -aLn {} "$target/lib/" \;
# Its own loader and libraries, because they are newer than the system's.
patchelf --set-interpreter "$target/lib/$(basename "$loader")" --force-rpath \
    --set-rpath "$target/lib" "$target/bin/nix"
"$target/bin/nix" --version
