# What stdenv's setup.sh does, as far as homeroom's derivations ask: bash runs it as the builder.
# What it uses and never sets comes from Nix, and its formats are the wrappers' code:
# shellcheck shell=bash disable=SC2154,SC2016
set -eu -o pipefail
for input in ${nativeBuildInputs-}; do
    PATH=$input/bin:$PATH
done
export PATH HOME=$TMPDIR

runHook() {
    eval "${!1-}"
}

makeWrapper() {
    local program=$1 wrapper=$2 flags=
    shift 2
    mkdir -p "$(dirname "$wrapper")"
    {
        printf '#!%s\n' "$BASH"
        while [ $# -gt 0 ]; do
            case $1 in
            --set) printf 'export %s=%q\n' "$2" "$3" && shift 3 ;;
            --set-default) printf 'export %s=${%s-%q}\n' "$2" "$2" "$3" && shift 3 ;;
            --prefix) printf 'export %s=%q${%s:+%q$%s}\n' "$2" "$4" "$2" "$3" "$2" && shift 4 ;;
            --suffix) printf 'export %s=${%s:+$%s%q}%q\n' "$2" "$2" "$2" "$3" "$4" && shift 4 ;;
            --add-flags) flags+=" $2" && shift 2 ;;
            *) printf 'makeWrapper: %s is unknown here\n' "$1" >&2 && return 1 ;;
            esac
        done
        printf 'exec %s%s "$@"\n' "$program" "$flags"
    } >"$wrapper"
    chmod +x "$wrapper"
}

wrapProgram() {
    local program=$1 hidden
    shift
    hidden=$(dirname "$program")/.$(basename "$program")-wrapped
    mv "$program" "$hidden"
    makeWrapper "$hidden" "$program" "$@"
}

if [ -n "${buildCommand-}" ]; then
    eval "$buildCommand"
else
    if [ -n "${src-}" ] && [ -z "${dontUnpack-}" ]; then
        cp -r "$src" source
        chmod -R u+w source
        cd source
    fi
    eval "$installPhase"
fi
