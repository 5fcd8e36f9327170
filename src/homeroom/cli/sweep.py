"""``homeroom sweep``: remove what dead runs left."""

import argparse
import json
from collections.abc import Mapping

import msgspec

from homeroom.cli.printable import in_one_line
from homeroom.cli.telling import tell

_EPILOG = """\
examples:
  homeroom sweep --dry-run    say what would be removed, and why the rest is spared
  homeroom sweep              remove it

A live run is never touched, nor anything younger than five minutes, nor anything that
homeroom did not make. Every start sweeps as well, at most once a minute. Exit status 1:
something could not be removed; it is named."""


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "sweep",
        help="remove the rooms of runs that died",
        description="End the orphaned agents of runs that died, and remove their rooms.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Sweep, and say what was done with each entry.

    Args:
        arguments: The parsed command line.
        environ: The caller's environment.

    Returns:
        0, or 1 when something could not be removed.
    """
    from homeroom import adoption, aftermath, config, paths, rules

    places = paths.locate(environ)
    settings, fault = config.load_if_possible(places.config_file)
    if fault is not None:
        hint = f" ({fault.hint})" if fault.hint else ""
        tell(f"warning: {fault.message}{hint}; sweep goes on without it")
    masters = adoption.Places(places, settings, environ, rules.user_homes(environ)[0])
    report = aftermath.sweep_dead(
        places,
        dry_run=arguments.dry_run,
        places=masters,
        tell=tell,
        fault=fault,
    )
    failed = report.count("failed")
    if arguments.json:
        entries = [msgspec.structs.asdict(entry) for entry in report.entries]
        print(json.dumps({"schema": 1, "dry_run": arguments.dry_run, "entries": entries}, indent=2))
        return 1 if failed else 0
    for entry in report.entries:
        print(in_one_line(f"{entry.verdict:<12} {entry.name}: {entry.reason}"))
    if not report.entries:
        print("nothing to sweep")
    return 1 if failed else 0
