"""``homeroom stop``: end runs."""

import argparse
import json
from collections.abc import Mapping

import msgspec

from homeroom.cli.printable import in_one_line
from homeroom.cli.telling import tell

_EPILOG = """\
examples:
  homeroom stop 3f9a          by the beginning of its id
  homeroom stop reviewer      by its name
  homeroom stop --all

The agent is asked to end, then ended; its transcript is kept and its room wiped. Exit
status 1: something of a run is left; it is named."""


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "stop",
        help="end runs, and wipe their rooms",
        description="End runs: graceful first, then forced, and always wiped.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "runs", nargs="*", metavar="RUN", help="a name, an id, or a beginning of one"
    )
    parser.add_argument("--all", action="store_true", help="every run that is alive")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """End runs.

    Args:
        arguments: The parsed command line.
        environ: The caller's environment.

    Returns:
        0, or 1 when something of a run is left.

    Raises:
        UsageError: No run is named, or a word names none.
    """
    from homeroom import adoption, aftermath, config, paths, rules, stop
    from homeroom.errors import UsageError
    from homeroom.run import find, sweep

    if bool(arguments.runs) == arguments.all:
        raise UsageError("name the runs to stop, or say --all", "homeroom list")
    places = paths.locate(environ)
    settings, fault = config.load_if_possible(places.config_file)
    if fault is not None:
        hint = f" ({fault.hint})" if fault.hint else ""
        tell(f"warning: {fault.message}{hint}; stop goes on without it")
    masters = adoption.Places(places, settings, environ, rules.user_homes(environ)[0])
    if arguments.all:
        runs, unread = find.all_runs(places)
        chosen = [run for run in (*runs, *(one.found for one in unread)) if run.is_alive]
    else:
        words = dict.fromkeys(arguments.runs)
        chosen = [find.one(places, word, unread=True) for word in words]

    def clean(run_id: str) -> sweep.Report:
        return aftermath.sweep_dead(places, places=masters, tell=tell, only=run_id, fault=fault)

    results = stop.stop(places, chosen, grace=settings.run.stop_grace, clean=clean)
    if arguments.json:
        print(
            json.dumps(
                {"schema": 1, "runs": [msgspec.structs.asdict(result) for result in results]},
                indent=2,
            )
        )
    else:
        names = {run.record.run_id: run.record.name for run in chosen}
        for result in results:
            label = names[result.run_id] or result.run_id[:12]
            note = f": {result.note}" if result.note else ""
            print(in_one_line(f"{label} {result.how}{note}"))
        if not results:
            print("no runs are alive")
    return 1 if any(result.how == "failed" for result in results) else 0
