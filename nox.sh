#!/bin/sh
# nox for a machine that has Python and git but no nox: `sh nox.sh -s test` is `nox -s test`.
set -eu
cd "$(dirname "$0")"

say() {
    printf 'nox.sh: %s\n' "$*" >&2
}

works() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    for name in python3 python3.13 python3.12 python3.11; do
        if works "$name"; then
            printf '%s\n' "$name"
            return
        fi
    done
    say 'Python 3.11 or newer is needed. On Debian and Ubuntu: apt-get install python3'
    return 1
}

# Debian and Ubuntu keep ensurepip, which a virtual environment needs, in a package of its own.
install_venv() {
    package=python$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv
    sudo=$([ "$(id -u)" = 0 ] || echo sudo)
    if ! command -v apt-get >/dev/null || ! command -v "${sudo:-env}" >/dev/null; then
        say "$python has no ensurepip. Install it, as root: apt-get install $package"
        return 1
    fi
    $sudo apt-get update -q
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$package"
}

python=$(find_python)
bin=.nox/bootstrap/bin
if ! works $bin/python || ! $bin/python -c 'import nox' 2>/dev/null; then
    "$python" -c 'import ensurepip' 2>/dev/null || install_venv >&2
    "$python" -m venv --clear .nox/bootstrap
    $bin/python -m pip install -q --disable-pip-version-check 'nox>=2025.11.12'
fi
exec $bin/nox "$@"
