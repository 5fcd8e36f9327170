"""``homeroom setup``: install the pinned tools, or say that they are there."""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from homeroom.errors import UsageError
from homeroom.paths import locate

if TYPE_CHECKING:
    from homeroom.toolchain.install import Outcome
    from homeroom.toolchain.system import SystemTool

_DESCRIPTION = """\
Install the tools that a room is made from: Node.js, the sandbox runtime (srt), the
agents, ripgrep and a model server for the demo. Each is one exact version, checked
against a hash that homeroom brings along; nothing of this machine's own Node.js is used.
About 430 MB are downloaded and 1.1 GB kept, below homeroom's data directory.

A second call answers at once. On Linux bubblewrap and socat must come from the
distribution; when one is missing, the message is the command that installs it.
"""
_EPILOG = """\
examples:
  homeroom setup                    install, or do nothing when all is there
  homeroom setup --json             the same, with one JSON document on stdout
  homeroom setup --verify           hash what is installed, replace it if it has changed
  npm_config_registry=… PIP_INDEX_URL=… homeroom setup
                                    fetch from mirrors, as npm and pip do

HOMEROOM_TOOLCHAIN=DIR uses a toolchain that was made elsewhere; nothing is installed then.
"""
_SCHEMA = 1


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the command line.

    Args:
        subparsers: Where commands are added.
    """
    parser = subparsers.add_parser(
        "setup",
        help="install the pinned tools",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON document on stdout when done"
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="hash every installed tool again; one that has changed is installed anew",
    )
    parser.add_argument(
        "--boot-sweep",
        action=argparse.BooleanOptionalAction,
        help="remove the rooms of dead runs after each boot of this machine as well (a systemd "
        "user timer or a launchd agent); --no-boot-sweep takes that back; nothing is installed",
    )
    maintainers = parser.add_argument_group("for maintainers of homeroom")
    maintainers.add_argument(
        "--upgrade-pins",
        metavar="DIR",
        nargs="?",
        const="",
        help="rewrite the pins from the registries, in DIR or in the source tree",
    )
    maintainers.add_argument(
        "--pin",
        metavar="NAME=VERSION",
        action="append",
        default=[],
        help="with --upgrade-pins: take this version instead of the latest (repeatable)",
    )
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Do what the command line asks.

    Args:
        args: The parsed command line.
        environ: The caller's environment.

    Returns:
        0, or 128+n when signal n ended it.

    Raises:
        UsageError: ``--pin`` is used wrongly.
        HomeroomError: See ``toolchain.install.install`` and ``toolchain.upgrade.upgrade``.
    """
    from homeroom.toolchain.interrupt import Interrupted, interruptible

    if args.boot_sweep is not None:
        return _boot_sweep(args, environ)
    if args.pin and args.upgrade_pins is None:
        raise UsageError("--pin only goes with --upgrade-pins")
    try:
        with interruptible():
            if args.upgrade_pins is not None:
                return _upgrade(args, environ)
            return _install(args, environ)
    except Interrupted as interrupted:
        _tell(sys.stderr, f"homeroom: ended by a signal ({interrupted}); nothing was kept")
        return 128 + interrupted.number


def _boot_sweep(args: argparse.Namespace, environ: Mapping[str, str]) -> int:
    from homeroom import boot, rules

    home = rules.user_homes(environ)[0]
    if args.boot_sweep:
        command = [sys.executable, "-P", "-m", "homeroom"]
        paths, verb = boot.install(environ, home, command), "wrote"
    else:
        paths, verb = boot.remove(environ, home), "removed"
    named = [str(path) for path in paths]
    if args.json:
        document = {"schema": _SCHEMA, "command": "setup --boot-sweep", verb: named}
        _tell(sys.stdout, json.dumps(document, indent=2))
        return 0
    for path in named:
        _tell(sys.stdout, f"{verb} {path}")
    if not named:
        _tell(sys.stdout, "there was nothing to remove")
    return 0


def _install(args: argparse.Namespace, environ: Mapping[str, str]) -> int:
    from homeroom.toolchain.install import install
    from homeroom.toolchain.progress import reporter
    from homeroom.toolchain.system import check_system_tools

    # First, because it is told in no time and the rest is of no use without.
    system = check_system_tools(environ)
    with reporter(sys.stderr) as told:
        outcome = install(locate(environ), environ, told, thorough=args.verify)
    document = json.dumps(_document(outcome, system), indent=2)
    _tell(sys.stdout, document if args.json else _text(outcome, system))
    return 0


def _document(outcome: "Outcome", system: Mapping[str, "SystemTool"]) -> dict[str, object]:
    toolchain = outcome.toolchain
    return {
        "schema": _SCHEMA,
        "command": "setup",
        "installed": outcome.installed,
        "lock_hash": toolchain.lock_hash,
        "root": str(toolchain.root),
        "tools": [
            {
                "name": tool.name,
                "version": tool.version,
                "path": str(tool.path),
                "hash": tool.hash,
            }
            for tool in toolchain.tools.values()
        ],
        "system": [
            {"name": tool.name, "version": tool.version, "path": str(tool.path)}
            for tool in system.values()
        ],
    }


def _text(outcome: "Outcome", system: Mapping[str, "SystemTool"]) -> str:
    toolchain = outcome.toolchain
    rows = [(tool.name, tool.version, "") for tool in toolchain.tools.values()]
    rows += [(tool.name, tool.version or "", "of the system") for tool in system.values()]
    lines = [f"{name:<14}{version:<12}{note}".rstrip() for name, version, note in rows]
    how = "installed" if outcome.installed else "nothing to do, all is"
    return "\n".join([*lines, f"{how} in {toolchain.root}"])


def _upgrade(args: argparse.Namespace, environ: Mapping[str, str]) -> int:
    from homeroom.toolchain.upgrade import source_lock_dir, upgrade

    pinned = dict(_split_pin(pin) for pin in args.pin)
    directory = Path(args.upgrade_pins).resolve() if args.upgrade_pins else source_lock_dir()
    changes = upgrade(directory, pinned, environ, lambda line: _tell(sys.stderr, line))
    if args.json:
        named = [{"name": name, "before": old, "after": new} for name, old, new in changes]
        document = {"schema": _SCHEMA, "command": "setup --upgrade-pins", "changes": named}
        _tell(sys.stdout, json.dumps(document, indent=2))
    for name, old, new in changes if not args.json else []:
        _tell(sys.stdout, f"{name:<14}{old} -> {new}")
    if not changes:
        _tell(sys.stderr, "every pin is the latest")
    return 0


def _tell(stream: TextIO, line: str) -> None:
    stream.write(f"{line}\n")
    stream.flush()


def _split_pin(pin: str) -> tuple[str, str]:
    name, equals, version = pin.partition("=")
    if not (name and equals and version):
        raise UsageError(f"--pin {pin}: not NAME=VERSION", "for example: --pin srt=0.0.83")
    return name, version
