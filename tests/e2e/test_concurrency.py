"""Many runs at once: each answers, each is alone, nothing is left."""

import subprocess
import sys
from pathlib import Path

import pytest

from homeroom.toolchain.store import Toolchain
from tests.e2e.runner import Runner
from tests.support.model_server import calls, model_server, says
from tests.support.runs import records
from tests.support.tree import changes, snapshot

SIXTEEN = 16
BYPASS = "--dangerously-skip-permissions"
# What an agent does in its room: it leaves a mark at home, looks for others' homes and marks
# while they are there too, and works in its workspace.
LOOK = """
echo {name} > "$HOME/mark"
echo {name} > "$TMPDIR/mark"
sleep 0.5
ls -d "${{HOME%/run_*}}"/* 2>/dev/null | wc -l
cat "${{HOME%/run_*}}"/*/home/mark "${{TMPDIR%/*/*}}"/*/t/mark 2>/dev/null
echo {name} > made-by-{name}
"""


@pytest.mark.parametrize("shared", [True, False], ids=["one workspace", "sixteen"])
def test_sixteen_runs_at_once(
    runner: Runner, toolchain: Toolchain, tmp_path: Path, shared: bool
) -> None:
    names = [f"run{number:02}" for number in range(SIXTEEN)]
    places = {name: tmp_path / ("shared" if shared else name) for name in names}
    for place in set(places.values()):
        place.mkdir()
    fixtures = [
        fixture
        for name in names
        for fixture in (
            says(f"{name} is done", userMessage=name, hasToolResult=True),
            calls("Bash", {"command": LOOK.format(name=name)}, userMessage=name),
        )
    ]
    home = snapshot(runner.home.home)
    with model_server(toolchain, fixtures) as server:
        started = {
            name: runner.popen(server, "-p", f"go, {name}", BYPASS, cwd=places[name])
            for name in names
        }
        outcomes = {
            name: (*process.communicate(timeout=100), process.returncode)
            for name, process in started.items()
        }
        assert [outcome for outcome in outcomes.values() if outcome[2] != 0] == []
        assert {name: outcome[0] for name, outcome in outcomes.items()} == {
            name: f"{name} is done\n" for name in names
        }
        seen = {
            message["content"]
            for request in server.journal()
            for message in request["body"]["messages"]
            if message["role"] == "tool"
        }
    # One home to be seen, its own, and in it and in its TMPDIR its own mark.
    assert seen == {f"1\n{name}\n{name}" for name in names}
    found = {path.name for place in places.values() for path in place.iterdir()}
    assert found == {f"made-by-{name}" for name in names}
    assert changes(home, snapshot(runner.home.home)) == []
    assert [record["state"] for record in records(runner.home.root)] == ["ended"] * SIXTEEN
    assert len({record["run_id"] for record in records(runner.home.root)}) == SIXTEEN


def test_sweeps_at_the_same_time_disturb_nobody(runner: Runner, toolchain: Toolchain) -> None:
    sweep = [sys.executable, "-m", "homeroom", "sweep"]
    with model_server(toolchain, [says("done")]) as server:
        runs = [runner.popen(server, "-p", "hi") for _ in range(4)]
        while any(run.poll() is None for run in runs):
            sweeps = [
                subprocess.Popen(
                    sweep, env=runner.home.env, cwd=runner.workspace, stdout=subprocess.DEVNULL
                )
                for _ in range(2)
            ]
            assert [process.wait(30) for process in sweeps] == [0, 0]
        said = [(run.communicate()[0], run.returncode) for run in runs]
    assert said == [("done\n", 0)] * 4
