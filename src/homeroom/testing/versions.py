"""A toolchain with other versions of its agents than the pinned ones, for a compatibility run.

usage: python -m homeroom.testing.versions DIRECTORY NAME=VERSION...

It prints the root for ``HOMEROOM_TOOLCHAIN``. The agents come from npm by its own client,
which checks them against the registry's hashes: homeroom has no pins for them. Everything
else is linked from the installed toolchain.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from homeroom.errors import ToolError, UsageError
from homeroom.paths import locate
from homeroom.testing.toolchain import with_tools
from homeroom.testing.tree import remove_tree
from homeroom.toolchain import child, fetch, pins
from homeroom.toolchain.store import MARK, NODE, Tool, Toolchain, require

_PATIENCE = 600.0
_OPTIONS = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--no-save")


class _Manifest(msgspec.Struct, frozen=True):
    version: str
    bin: str | dict[str, str] = {}


def main(root: Path, wanted: Mapping[str, str], environ: Mapping[str, str]) -> Path:
    """Make the toolchain.

    Args:
        root: Where; a toolchain that is there is replaced.
        wanted: Versions by the names of tools.
        environ: The caller's environment; it names the installed toolchain.

    Returns:
        The root.

    Raises:
        HomeroomError: The installed toolchain is missing, or there is no such version.
    """
    base = require(locate(environ), environ)
    if root.is_dir() and os.listdir(root):
        if not (root / MARK).is_file():
            raise UsageError(f"{root} holds something else than a toolchain")
        remove_tree(root)
    root.mkdir(mode=0o755, parents=True, exist_ok=True)
    tools = {
        name: _install(root / "other" / f"{name}-{version}", base, name, version, environ)
        for name, version in wanted.items()
    }
    return with_tools(root, base, tools)


def _install(
    directory: Path, base: Toolchain, name: str, version: str, environ: Mapping[str, str]
) -> Tool:
    pinned = pins.load()
    if name not in pinned.tools:
        raise UsageError(f"there is no tool {name!r}", f"there are: {', '.join(pinned.tools)}")
    pin = pinned.tools[name]
    shutil.rmtree(directory, ignore_errors=True)
    temporary = directory / "tmp"
    temporary.mkdir(mode=0o755, parents=True)
    done = subprocess.run(
        [
            *fetch.npm(base.root / NODE, pinned.node),
            *("install", *_OPTIONS, f"--prefix={directory}", f"{pin.package}@{version}"),
        ],
        cwd=directory,
        env=child.environment(environ, temporary),
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    if done.returncode:
        raise ToolError(f"npm has no {pin.package} {version}: {done.stderr.strip()[-500:]}")
    modules = directory / "node_modules"
    found = msgspec.json.decode(
        (modules / pin.package / "package.json").read_bytes(), type=_Manifest
    )
    if found.version != version:
        raise ToolError(f"npm gave {pin.package} {found.version} for {version}")
    # Wherever in its package it was at that time.
    for native in (modules / pin.build.package).rglob(Path(pin.build.file).name):
        if native.is_file() and os.access(native, os.X_OK):
            return Tool(name, version, native, "")
    # There was none: a script for Node.js.
    program = directory / name
    script = Path("node_modules", pin.package, next(_programs(found)))
    node = Path("../..", base.tools[NODE].path.relative_to(base.root))
    # By where it is itself: the toolchain may be moved, or be made into another one.
    words = " ".join(f'"${{0%/*}}"/{shlex.quote(str(word))}' for word in (node, script))
    program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    program.chmod(0o755)
    return Tool(name, version, program, "")


def _programs(manifest: _Manifest) -> Iterator[str]:
    yield from [manifest.bin] if isinstance(manifest.bin, str) else manifest.bin.values()


if __name__ == "__main__":
    arguments = dict(word.split("=", 1) for word in sys.argv[2:])
    print(main(Path(os.path.realpath(sys.argv[1])), arguments, os.environ))  # noqa: T201
