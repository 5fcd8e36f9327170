"""Measure what homeroom adds to the bare command: ``nox -s bench``.

Paired: the bare command and homeroom's run alternate within one loop, against one model
server, so that whatever else the machine does strikes both alike. Medians are reported.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import life

from homeroom import demo, home, paths, plan
from homeroom.config import Config
from homeroom.provider.common import apply
from homeroom.sandbox.srt import Srt
from homeroom.toolchain import store

# Of what takes seconds.
_FEW = 3
PROMPT = ("-p", "hello")


def main() -> int:
    """Run the benchmarks and print a Markdown table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--rooms", type=int, default=1000, help="swept; records listed")
    parser.add_argument("--runs", type=int, default=50, help="detached ones")
    parser.add_argument("--megabytes", type=int, default=1000, help="of a transcript")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    environ = dict(os.environ)
    places = paths.locate(environ)
    toolchain = store.require(places, environ)
    with (
        tempfile.TemporaryDirectory(prefix="hr-bench-") as scratch,
        demo.model_server(toolchain) as endpoint,
    ):
        results = _measure(Path(scratch), endpoint, environ, options.rounds)
    of_many = life.measure(_FEW, options.rooms, options.runs, options.megabytes)
    if options.json:
        print(json.dumps(results | of_many, indent=2))
    else:
        print(_table(results))
        print(life.table(of_many))
    return 0


def _measure(
    scratch: Path, endpoint: str, environ: dict[str, str], rounds: int
) -> dict[str, object]:
    workspace = scratch / "project"
    workspace.mkdir()
    environ = environ | {"HOMEROOM_HOME": str(scratch / "h"), "HOME": str(scratch / "user")}
    Path(environ["HOME"]).mkdir()
    environ["HOMEROOM_TOOLCHAIN"] = str(store.require(paths.locate(os.environ), os.environ).root)
    bare = _bare_room(workspace, endpoint, environ)
    ours = [sys.executable, "-m", "homeroom", "start", "--demo-server", endpoint, "--", *PROMPT]
    module = [sys.executable, "-m", "homeroom"]
    check = [*module, "check"]
    pairs = [(_timed(bare), _timed(lambda: _run(ours, environ, workspace))) for _ in range(rounds)]
    bare_median = statistics.median(pair[0] for pair in pairs)
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}",
        "python": platform.python_version(),
        "rounds": rounds,
        "bare_ms": bare_median * 1000,
        "start_ms": statistics.median(pair[1] for pair in pairs) * 1000,
        "added_ms": statistics.median(own - base for base, own in pairs) * 1000,
        "ratio": statistics.median(own / base for base, own in pairs),
        "help_ms": _median(lambda: _run([*module, "--help"], environ, workspace), rounds),
        "dry_run_ms": _median(lambda: _run([*module, "dry-run"], environ, workspace), rounds),
        "python_ms": _median(lambda: _run([sys.executable, "-c", ""], environ, workspace), rounds),
        "check_s": _median(lambda: _run(check, environ, workspace), _FEW) / 1000,
        "check_quick_s": _median(lambda: _run([*check, "--quick"], environ, workspace), _FEW)
        / 1000,
        "supervisor_mb": _supervisor_memory(endpoint, environ, workspace),
    }


def _bare_room(workspace: Path, endpoint: str, environ: dict[str, str]) -> Callable[[], None]:
    """Make a room by hand, as a careful user would, to be used again and again."""
    places = paths.locate(environ)
    request = plan.Request("claude", PROMPT, workspace, endpoint=endpoint)
    decided = plan.make(request, environ, places, Config(), home.new_run_id())
    instance = decided.instance
    home.materialize(instance)
    for seed in decided.seeds:
        apply(instance.home, seed)
    if decided.credential is None:
        raise RuntimeError("the demo has a credential")
    carried = decided.provider.inject(decided.room, decided.credential)
    settings = instance.runtime / "settings.json"
    settings.write_bytes(Srt(decided.host).settings(decided.policy))
    inner = decided.inside.carrying(carried)
    values = {
        name: value if isinstance(value, str) else value.reveal()
        for name, value in inner.environment.items()
    }
    tools = decided.toolchain.tools
    argv = [str(tools["node"].path), str(tools["srt"].path), "--settings", str(settings), "--"]
    argv += ["/usr/bin/env", "-u", "NO_PROXY", "-u", "no_proxy", *inner.argv]
    values |= dict(decided.command.environment)
    return lambda: _run(argv, values, workspace)


def _run(argv: list[str], environ: dict[str, str], directory: Path) -> None:
    subprocess.run(
        argv, env=environ, cwd=directory, check=True, capture_output=True, stdin=subprocess.DEVNULL
    )


def _timed(action: Callable[[], None]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def _median(action: Callable[[], None], rounds: int) -> float:
    return statistics.median(_timed(action) for _ in range(rounds)) * 1000


def _supervisor_memory(endpoint: str, environ: dict[str, str], workspace: Path) -> float:
    """Read the supervisor's resident memory while its agent runs, in MB."""
    argv = [sys.executable, "-m", "homeroom", "start", "--demo-server", endpoint, "--"]
    process = subprocess.Popen(
        [
            *argv,
            "-p",
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
            "--verbose",
        ],
        env=environ,
        cwd=workspace,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        time.sleep(2)
        fields = Path(f"/proc/{process.pid}/statm").read_text().split()
        return int(fields[1]) * resource.getpagesize() / 1e6
    finally:
        process.terminate()
        process.wait()


def _table(results: dict[str, object]) -> str:
    lines = [
        f"Machine: {results['machine']}, Python {results['python']}, {results['rounds']} rounds",
        "",
    ]
    lines += ["| what | median |", "|---|---|"]
    rows = {
        "bare `srt -- claude -p` (ms)": "bare_ms",
        "`homeroom start` (ms)": "start_ms",
        "added by `start` (ms, goal < 150)": "added_ms",
        "ratio (goal < 1.25)": "ratio",
        "`homeroom --help` (ms)": "help_ms",
        "`homeroom dry-run` (ms)": "dry_run_ms",
        "`python -c ''` for comparison (ms)": "python_ms",
        "`homeroom check` (s, goal < 15)": "check_s",
        "`homeroom check --quick` (s, goal < 2)": "check_quick_s",
        "memory of the supervisor (MB, goal < 30)": "supervisor_mb",
    }
    lines += [f"| {label} | {results[key]:.2f} |" for label, key in rows.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
