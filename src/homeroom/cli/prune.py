"""``homeroom prune``: forget ended runs."""

import argparse
import json
import time
from collections.abc import Mapping
from typing import Any

_EPILOG = """\
examples:
  homeroom prune --older-than 30d             what ended more than thirty days ago
  homeroom prune --older-than 0s --dry-run    everything that is over, but only say so"""


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "prune",
        help="forget runs that ended long ago",
        description="Remove the records, logs and transcripts of ended runs.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--older-than", required=True, metavar="SPAN", help="as 30d, 12h or 2w")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Forget runs.

    Args:
        arguments: The parsed command line.
        environ: The caller's environment.

    Returns:
        0.

    Raises:
        UsageError: The span cannot be read.
    """
    from homeroom import paths, trash
    from homeroom.cli.span import WRITTEN, seconds
    from homeroom.errors import UsageError
    from homeroom.run import find, record

    try:
        span = seconds(arguments.older_than)
    except ValueError as error:
        raise UsageError(str(error), f"write {WRITTEN}") from None
    places = paths.locate(environ)
    now = time.time()
    gone: list[dict[str, Any]] = []
    for found in find.all_runs(places)[0]:
        ended = found.record.ended or found.record.created
        if found.record.state not in record.FINAL or now - ended < span:
            continue
        run_id = found.record.run_id
        if not arguments.dry_run:
            if (places.transcripts / run_id).exists():
                trash.discard(places.transcripts / run_id, places.trash)
            (places.state / "logs" / f"{run_id}.log").unlink(missing_ok=True)
            # Last: while it is there, the rest can be found again.
            (places.runs / f"{run_id}.json").unlink(missing_ok=True)
        gone.append({"run_id": run_id, "ended": ended})
    if arguments.json:
        print(json.dumps({"schema": 1, "dry_run": arguments.dry_run, "runs": gone}, indent=2))
        return 0
    verb = "would forget" if arguments.dry_run else "forgot"
    print(f"{verb} {len(gone)} runs")
    return 0
