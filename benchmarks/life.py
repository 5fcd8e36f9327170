"""Measure what many runs cost: sweeping, listing, starting and following them."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from homeroom import demo, home, paths
from homeroom.files import ensure_private_dir
from homeroom.paths import Paths
from homeroom.run import record
from homeroom.toolchain import store

_HOMEROOM = (sys.executable, "-m", "homeroom")
_FILES = 200
_ADDED = 20
_AN_HOUR_AGO = time.time() - 3600
_LINE = json.dumps(
    {"type": "user", "message": {"role": "user", "content": "x" * 900}, "uuid": "u", "cwd": "/"}
)


def measure(rounds: int, rooms: int, runs: int, megabytes: int) -> dict[str, Any]:
    """Measure all of it.

    Args:
        rounds: How often each is done.
        rooms: How many orphaned rooms are swept, and how many records are listed.
        runs: How many detached runs are started at once.
        megabytes: The size of the transcript that is followed.

    Returns:
        Seconds and ratios by name.
    """
    with tempfile.TemporaryDirectory(prefix="hr-bench-") as scratch:
        base = Path(scratch)
        pairs = [_sweep_and_remove(base / str(number), rooms) for number in range(rounds)]
        with_none, with_many = _list(base / "list", rounds, rooms)
        return {
            "rooms": rooms,
            "runs": runs,
            "megabytes": megabytes,
            "sweep_s": median(pair[0] for pair in pairs),
            "rm_s": median(pair[1] for pair in pairs),
            "sweep_ratio": median(ours / bare for ours, bare in pairs),
            "list_none_ms": with_none * 1000,
            "list_many_ms": with_many * 1000,
            "list_ratio": with_many / with_none,
            **_detached(base / "detached", runs),
            **_follow(base / "follow", megabytes),
        }


def _environment(directory: Path) -> tuple[dict[str, str], Paths]:
    directory.mkdir()
    (directory / "user").mkdir(mode=0o700)
    toolchain = store.require(paths.locate(os.environ), os.environ).root
    environ = os.environ | {
        "HOMEROOM_HOME": str(directory / "h"),
        "HOME": str(directory / "user"),
        "HOMEROOM_TOOLCHAIN": str(toolchain),
    }
    return environ, paths.locate(environ)


def _timed(environ: dict[str, str], *argv: str) -> float:
    begin = time.perf_counter()
    subprocess.run(argv, env=environ, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    return time.perf_counter() - begin


def _died(places: Paths, state: record.RunState, directory: Path) -> home.Instance:
    """Make what a run leaves that has died: its trees, its record and an unheld lock."""
    run_id = home.new_run_id()
    instance = home.instance_of(places, run_id)
    ensure_private_dir(places.runs)
    kept = record.Record(
        run_id=run_id,
        provider="claude",
        workspace=str(directory),
        state=state,
        created=_AN_HOUR_AGO,
        supervisor=1,
    )
    record.save(places.runs / f"{run_id}.json", kept)
    if state == "running":
        home.materialize(instance)
        for number in range(_FILES):
            path = instance.home / f"{number % 10}" / f"{number}.json"
            path.parent.mkdir(exist_ok=True)
            path.write_text(_LINE)
        (places.runs / f"{run_id}.lock").touch(mode=0o600)
        paths_of_it = (instance.root, *places.runs.glob(f"{run_id}.*"))
        for path in paths_of_it:
            os.utime(path, (_AN_HOUR_AGO, _AN_HOUR_AGO))
    return instance


def _sweep_and_remove(directory: Path, rooms: int) -> tuple[float, float]:
    environ, places = _environment(directory)
    timings = []
    for argv in ([*_HOMEROOM, "sweep"], ["rm", "-rf"]):
        instances = [_died(places, "running", directory) for _ in range(rooms)]
        trees = [str(tree) for each in instances for tree in (each.root, each.temp)]
        os.sync()
        timings.append(_timed(environ, *argv, *(trees if argv[0] == "rm" else ())))
        left = [tree for tree in trees if os.path.lexists(tree)]
        if left:
            raise RuntimeError(f"{argv[:2]} left {left[:3]}")
    return timings[0], timings[1]


def _list(directory: Path, rounds: int, records: int) -> tuple[float, float]:
    environ, places = _environment(directory)
    argv = (*_HOMEROOM, "list")
    with_none = median(_timed(environ, *argv) for _ in range(rounds * 3))
    for _ in range(records):
        _died(places, "ended", directory)
    return with_none, median(_timed(environ, *argv) for _ in range(rounds * 3))


def _detached(directory: Path, runs: int) -> dict[str, float]:
    """Start runs one after the other, each held by tmux, then stop them all."""
    environ, places = _environment(directory)
    workspace = directory / "project"
    workspace.mkdir()
    with demo.model_server(store.require(places, environ)) as endpoint:
        start = (*_HOMEROOM, "start", "--demo-server", endpoint, "--detach")
        timings = []
        try:
            for _ in range(runs):
                begin = time.perf_counter()
                subprocess.run(start, env=environ, cwd=workspace, check=True, capture_output=True)
                timings.append(time.perf_counter() - begin)
        finally:
            stopped = _timed(environ, *_HOMEROOM, "stop", "--all")
    return {"detach_s": median(timings), "detach_all_s": sum(timings), "stop_all_s": stopped}


def _follow(directory: Path, megabytes: int) -> dict[str, float]:
    """Read a transcript of an ended run whole, then ask how long one more line takes."""
    from homeroom import transcript

    directory.mkdir()
    path = directory / "long.jsonl"
    block = (_LINE + "\n").encode() * 1024
    with path.open("wb") as file:
        while file.tell() < megabytes * 1_000_000:
            file.write(block)
    timings: list[float] = []

    def reader() -> Iterator[bytes]:
        def more() -> bool:
            if len(timings) >= _ADDED:
                return False
            with path.open("ab") as file:
                file.write(block[: len(_LINE) + 1])
            timings.append(time.perf_counter())
            return True

        yield from transcript.lines(path, more=more)

    begin = time.perf_counter()
    waits = [time.perf_counter() - timings[-1] for _ in reader() if timings]
    return {"follow_first_s": timings[0] - begin, "follow_line_ms": median(waits) * 1000}


def table(results: dict[str, Any]) -> str:
    """Return the results as rows of a Markdown table."""
    rooms, runs, size = results["rooms"], results["runs"], results["megabytes"]
    rows = {
        f"`homeroom sweep` of {rooms} orphaned rooms of {_FILES} files (s)": "sweep_s",
        "`rm -rf` of the same (s)": "rm_s",
        "ratio (goal ≤ 1.3)": "sweep_ratio",
        "`homeroom list`, no records (ms)": "list_none_ms",
        f"`homeroom list`, {rooms} records (ms)": "list_many_ms",
        "ratio (goal ≤ 1.5)": "list_ratio",
        f"`start --detach`, each of {runs} that stay alive (s)": "detach_s",
        f"`stop --all` of those {runs} (s)": "stop_all_s",
        f"reading a transcript of {size} MB to its end (s)": "follow_first_s",
        "each line that is added then (ms)": "follow_line_ms",
    }
    return "\n".join(f"| {label} | {results[key]:.2f} |" for label, key in rows.items())
