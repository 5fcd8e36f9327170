"""A run that is ended, fails or dies at any moment: what is left, and what comes back."""

import itertools
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from homeroom.toolchain.store import Toolchain
from tests.e2e.runner import Runner, age, sweep, wait_until
from tests.e2e.session import ANSWER
from tests.support.model_server import ModelServer, model_server, says
from tests.support.patched import HAPPENED, STEPS
from tests.support.runs import (
    Journal,
    assert_nothing_left,
    is_gone,
    leftovers,
    records,
    the_one,
)
from tests.support.tree import changes, snapshot

ENDINGS = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129}
# From here on the agent has come and gone by itself.
OVER = list(STEPS)[list(STEPS).index("ended") :]
FEWEST_CHANGES = 30


@pytest.fixture(autouse=True)
def user_files_stay(runner: Runner) -> Iterator[None]:
    home = runner.home.home
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text("{}")
    before = snapshot(home)
    yield
    assert changes(before, snapshot(home)) == []


@pytest.mark.parametrize("name", ENDINGS)
@pytest.mark.parametrize("step", STEPS)
def test_a_signal_ends_the_run_and_nothing_is_left(
    runner: Runner, journal: Journal, step: str, name: str
) -> None:
    done = runner.start_patched(step, name, journal, "-p", "hi")
    assert done.returncode == ENDINGS[name], done.stderr
    assert done.stdout in ("", f"{ANSWER}\n")
    assert "Traceback" not in done.stderr
    assert "error: " in done.stderr or step in ("spawned", "started")
    # Before its lock there is no run, and so nothing to be recorded.
    states = [record["state"] for record in records(runner.home.root)]
    assert states in ([[]] if step == "before the lock" else [["failed"], ["ended"], []])
    assert_nothing_left(runner.home.root)


def test_an_end_that_is_asked_for_is_graceful(
    runner: Runner, slow_server: ModelServer, tmp_path: Path
) -> None:
    """The agent runs what its user wants to be done at the end, and keeps its transcript."""
    seen = Journal(slow_server)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    note = elsewhere / "said-goodbye"
    hook = {"type": "command", "command": "echo goodbye > said-goodbye"}
    settings = json.dumps({"hooks": {"SessionEnd": [{"hooks": [hook]}]}})
    arguments = ("-p", "hi", "--settings", settings)
    supervisor = runner.popen(slow_server, *arguments, cwd=elsewhere)
    wait_until(seen.requests)
    supervisor.send_signal(signal.SIGTERM)
    stdout, stderr = supervisor.communicate(timeout=30)
    assert (supervisor.returncode, stdout) == (143, ""), stderr
    assert note.read_text() == "goodbye\n"
    assert list((runner.home.root / "state" / "transcripts").rglob("*.jsonl"))
    [record] = records(runner.home.root)
    assert (record["state"], record["exit_status"]) == ("ended", 143)


def test_an_agent_that_will_not_end_is_killed(runner: Runner, toolchain: Toolchain) -> None:
    """A stopped process takes no request; nobody waits for it longer than the grace."""
    config = runner.home.root / "config" / "config.toml"
    config.parent.mkdir(mode=0o700, parents=True)
    config.write_text("[run]\nstop_grace = 0.5\n")
    with model_server(toolchain, [says("slow " * 500)], "--latency", "500") as server:
        seen = Journal(server)
        supervisor = runner.popen(server, "-p", "hi")
        wait_until(seen.requests)
        claude = str(toolchain.tools["claude"].path)
        agent = the_one(runner.home.root, claude)
        agent.suspend()
        supervisor.send_signal(signal.SIGTERM)
        supervisor.communicate(timeout=30)
    assert supervisor.returncode == 143
    wait_until(lambda: is_gone(agent))


PARTS = 3
in_parts = pytest.mark.parametrize("part", range(PARTS))


def interrupted(
    runner: Runner, journal: Journal, event: str, part: int, suffix: str = ""
) -> Iterator[tuple[str, CompletedProcess[str]]]:
    """Let an event happen at each change that a run makes, one run for each.

    Args:
        runner: Starts the runs.
        journal: Of the server that answers them.
        event: It.
        part: Which third of the changes is to be gone through.
        suffix: "+" where it happens at all later changes too.

    Yields:
        Words that tell which it was, and how that run ended.
    """
    for number in itertools.count(1 + part, PARTS):
        done = runner.start_patched(f"change:{number}{suffix}", event, journal, "-p", "hi")
        if HAPPENED not in done.stderr:
            assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n"), done.stderr
            assert number > FEWEST_CHANGES, "there are more changes than that in a run"
            return
        yield f"change {number}: {done.stderr}", done


@in_parts
def test_an_error_at_any_change_is_explained_and_undone(
    runner: Runner, journal: Journal, part: int
) -> None:
    for where, done in interrupted(runner, journal, "EACCES", part):
        assert done.returncode == 73, where
        assert "homeroom: error: " in done.stderr, where
        assert "Traceback" not in done.stderr, where
        if leftovers(runner.home.root):
            # It was the undoing that failed: then it is said, and a sweep does it.
            age(runner.home.root)
            assert {entry["verdict"] for entry in sweep(runner.home)} == {"removed"}, where
        assert leftovers(runner.home.root) == [], where


@in_parts
def test_a_disk_that_gets_full_is_explained_and_nothing_is_left(
    runner: Runner, journal: Journal, part: int
) -> None:
    for where, done in interrupted(runner, journal, "ENOSPC", part, "+"):
        assert done.returncode == 74, where
        assert "No space left on device" in done.stderr, where
        assert "Traceback" not in done.stderr, where
        assert not rooms(runner.home.root), where
    # A full disk had no place either for how it ended.
    age(runner.home.root)
    sweep(runner.home)


KILLED = [step for step in STEPS if step != "before the lock"]


@pytest.mark.parametrize("step", KILLED)
def test_what_a_killed_supervisor_leaves_is_swept(
    runner: Runner, journal: Journal, step: str
) -> None:
    root = runner.home.root
    done = runner.start_patched(step, "SIGKILL", journal, "-p", "hi")
    assert done.returncode == -signal.SIGKILL
    # Young as it is, only what lies in the trash already may go.
    young = {entry["verdict"] for entry in sweep(runner.home) if entry["name"] in run_ids(root)}
    assert young == {"spared"}
    age(root)
    assert {entry["verdict"] for entry in sweep(runner.home, "--dry-run")} == {"would remove"}
    assert {entry["verdict"] for entry in sweep(runner.home)} == {"removed"}
    assert_nothing_left(root)
    assert sweep(runner.home) == []
    assert [record["state"] for record in records(root)] in ([], ["crashed"], ["ended"])


@in_parts
def test_a_kill_between_any_two_changes_is_recovered_from(
    runner: Runner, journal: Journal, part: int
) -> None:
    root = runner.home.root
    for where, done in interrupted(runner, journal, "SIGKILL", part):
        assert done.returncode == -signal.SIGKILL, where
        age(root)
        assert {entry["verdict"] for entry in sweep(runner.home)} <= {"removed"}, where
        assert leftovers(root) == [], where


def test_the_agent_of_a_killed_supervisor_is_ended(
    runner: Runner, slow_server: ModelServer, toolchain: Toolchain
) -> None:
    root = runner.home.root
    seen = Journal(slow_server)
    supervisor = runner.popen(slow_server, "-p", "hi")
    wait_until(seen.requests)
    supervisor.kill()
    supervisor.wait()
    for stream in (supervisor.stdout, supervisor.stderr):
        # Not read to its end, for which the agent that lives on would have to end.
        assert stream
        stream.close()
    claude = str(toolchain.tools["claude"].path)
    agent = the_one(root, claude)
    assert not is_gone(agent)
    age(root)
    [entry] = sweep(runner.home)
    assert entry["verdict"] == "removed"
    assert "orphaned processes ended" in entry["reason"]
    # One whose memory is gone can do nothing more, and is named for a moment all the same.
    wait_until(lambda: is_gone(agent))
    [record] = records(root)
    assert record["state"] == "crashed"
    # What it had said so far is kept.
    assert list((root / "state" / "transcripts" / record["run_id"]).rglob("*.jsonl"))


def test_the_next_start_sweeps(runner: Runner, journal: Journal) -> None:
    root = runner.home.root
    runner.start_patched("a room", "SIGKILL", journal, "-p", "hi")
    [killed] = rooms(root)
    age(root)
    # Within a minute nothing would be looked for again.
    (root / "state" / "last-sweep").unlink(missing_ok=True)
    done = runner.start(journal, "-p", "hi")
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n")
    assert f"sweep: removed {killed}" in done.stderr


def rooms(root: Path) -> list[str]:
    return [path.name for path in (root / "state" / "instances").glob("run_*")]


def run_ids(root: Path) -> set[str]:
    return {path.name.partition(".")[0] for path in (root / "state" / "runs").glob("run_*")}


def test_a_live_room_is_never_swept(
    runner: Runner, journal: Journal, slow_server: ModelServer
) -> None:
    root = runner.home.root
    seen = Journal(slow_server)
    supervisor = runner.popen(slow_server, "-p", "hi")
    wait_until(seen.requests)
    age(root)
    [room] = rooms(root)
    # What it holds comes and goes with the agent's work, but for these.
    held = [root / "state" / "instances" / room / name for name in ("home/.claude", "canary")]
    [entry] = sweep(runner.home)
    assert (entry["name"], entry["verdict"], entry["reason"]) == (room, "spared", "it is alive")
    (root / "state" / "last-sweep").unlink(missing_ok=True)
    assert runner.start(journal, "-p", "hi").returncode == 0
    assert rooms(root) == [room]
    assert [path.exists() for path in held] == [True, True]
    assert supervisor.poll() is None
    supervisor.terminate()
    supervisor.communicate(timeout=30)
    assert supervisor.returncode == 143
    assert_nothing_left(root)


@pytest.mark.parametrize("pause", [0.0, 0.03, 0.06, 0.1, 0.15])
def test_an_end_in_the_first_moments_leaves_nothing(
    runner: Runner, slow_server: ModelServer, pause: float
) -> None:
    """While Python still starts its own habit rules, and what ends it is the signal."""
    process = runner.popen(slow_server, "-p", "hi")
    time.sleep(pause)
    process.terminate()
    _, stderr = process.communicate(timeout=30)
    assert process.returncode in (-signal.SIGTERM, 143), stderr
    assert "Traceback" not in stderr
