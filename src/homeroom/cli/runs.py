"""``homeroom list``: the runs there are."""

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from homeroom.cli.printable import in_one_line
from homeroom.cli.telling import tell

if TYPE_CHECKING:
    from homeroom.paths import Paths
    from homeroom.run.find import Found

_EPILOG = """\
examples:
  homeroom list              the runs that are there
  homeroom list --all        the ended ones as well
  homeroom list --watch      again every second, until Ctrl-C
  homeroom list --json       one JSON document (docs/reference/json.md)"""
_HEAD_LIMIT = 65536
# Which columns are spans of time.
_TIMES = (3, 4)
_UNITS = ((86400, "d"), (3600, "h"), (60, "m"))


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "list",
        help="list runs",
        description="List the runs that are alive, and those that died and were not swept yet.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--all", action="store_true", help="also the ended ones")
    parser.add_argument("--watch", action="store_true", help="show the list again every second")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """List runs.

    Args:
        arguments: The parsed command line.
        environ: The caller's environment.

    Returns:
        0.
    """
    from homeroom import paths

    places = paths.locate(environ)
    while True:
        text = _shown(arguments, places)
        if not arguments.watch:
            print(text)
            return 0
        print(f"\x1b[H\x1b[2J{text}" if sys.stdout.isatty() else text, flush=True)
        time.sleep(1)


def _shown(arguments: argparse.Namespace, places: "Paths") -> str:
    from homeroom.run import find, record

    runs, unread = find.all_runs(places)
    for other in unread:
        tell(other.why)
    # One whose supervisor died is shown until it is swept: there is something to be done.
    rows = [
        _row(places, run)
        for run in runs
        if run.is_alive
        or run.record.state not in record.FINAL
        or (arguments.all and not run.record.trial)
    ]
    if arguments.json:
        return json.dumps({"schema": 1, "runs": rows}, indent=2)
    return _table(rows) if rows else "no runs" if arguments.all else "no runs are alive"


def _row(places: "Paths", run: "Found") -> dict[str, Any]:
    record = run.record
    return {
        "run_id": record.run_id,
        "name": record.name,
        "state": run.state,
        "suspended": run.is_suspended,
        "provider": record.provider,
        "workspace": record.workspace,
        "worktree": run.worktree,
        "branch": _branch(Path(record.workspace)) if run.is_alive else None,
        "session": record.session,
        "container": record.container,
        "created": record.created,
        "ended": record.ended,
        "exit_status": record.exit_status,
        "last_activity": _last_activity(places, run),
    }


def _branch(workspace: Path) -> str | None:
    """Read which branch a work tree is on, as git keeps it (gitrepository-layout(5))."""
    from homeroom.errors import StorageError
    from homeroom.files import read_regular

    top = next(
        (at for at in (workspace, *workspace.parents) if os.path.exists(at / ".git")), workspace
    )
    directory = top / ".git"
    try:
        if os.path.isfile(directory):
            link = os.fsdecode(read_regular(directory, _HEAD_LIMIT)).strip()
            directory = top / link.removeprefix("gitdir: ")
        head = os.fsdecode(read_regular(directory / "HEAD", _HEAD_LIMIT)).strip()
    except (OSError, ValueError, StorageError):
        return None
    name = head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else head[:8]
    # An agent can write there: nothing of it is for the terminal to obey.
    return "".join(letter if letter.isprintable() else "?" for letter in name)


def _last_activity(places: "Paths", run: "Found") -> float | None:
    """Tell when the agent last wrote to its transcript, in seconds since the epoch."""
    if not run.is_alive:
        return run.record.ended
    from homeroom import home, provider
    from homeroom.provider.common import changed

    instance = home.instance_of(places, run.record.run_id)
    files = provider.get(run.record.provider).transcripts(instance.home)
    return max([run.record.created, *map(changed, files)])


def _table(rows: Sequence[dict[str, Any]]) -> str:
    table = [("RUN", "STATE", "AGENT", "AGE", "IDLE", "HELD", "WORKSPACE")]
    now = time.time()
    names = Counter(row["name"] for row in rows)
    for row in rows:
        name, short = row["name"], row["run_id"][:12]
        label = short if name is None else f"{name} ({short})" if names[name] > 1 else name
        idle = _ago(now, row["last_activity"]) if row["ended"] is None else ""
        branch = f" ({row['branch']})" if row["branch"] else ""
        kept = " (kept)" if row["worktree"] and row["ended"] is not None else ""
        state = "suspended" if row["suspended"] else row["state"]
        status = "" if row["exit_status"] is None else f" → {row['exit_status']}"
        held = "container" if row["container"] else row["session"]
        if row["container"] and row["session"] == "tmux":
            held = "tmux+container"
        table.append(
            (
                label,
                state + status,
                row["provider"],
                _ago(now, row["created"]),
                idle,
                held,
                row["workspace"] + branch + kept,
            )
        )
    return _aligned([tuple(map(in_one_line, cells)) for cells in table])


def _aligned(table: Sequence[tuple[str, ...]]) -> str:
    """Make each column as wide as its widest cell shows; times stand on the right."""
    from rich.cells import cell_len

    columns = list(zip(*table, strict=True))
    for at, column in enumerate(columns):
        gaps = [" " * (max(map(cell_len, column)) - cell_len(cell)) for cell in column]
        pairs = zip(column, gaps, strict=True)
        columns[at] = tuple(f"{gap}{cell}" if at in _TIMES else cell + gap for cell, gap in pairs)
    return "\n".join(" ".join(cells).rstrip() for cells in zip(*columns, strict=True))


def _ago(now: float, then: float | None) -> str:
    if then is None:
        return ""
    seconds = max(0.0, now - then)
    if seconds > 90 * 86400:
        return datetime.fromtimestamp(then, UTC).strftime("%Y-%m")
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:.0f}s"
