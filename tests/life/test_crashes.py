"""Whatever dies, whenever: after the next sweep nothing of a credential is left."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from homeroom import provider
from tests.life.conftest import Life, wait_until
from tests.life.scene import damage
from tests.support import patched
from tests.support.patched import STEPS
from tests.support.runs import command_line, leftovers, processes
from tests.support.tree import changes, snapshot

SECRET = "s3cret-that-must-not-outlive-its-run"
LOGIN = '{"claudeAiOauth": {"accessToken": "sk-ant-oat01-of-the-master-store-itself"}}'
DYING = ("supervisor", "agent", "srt", "bwrap", "tmux server", "supervisor and agent")
POINTS = [step for step in STEPS if step != "before the lock"]


@pytest.fixture(autouse=True)
def master_intact(slow: Life) -> Iterator[None]:
    store = slow.home.home / ".claude"
    store.mkdir(mode=0o700)
    (store / ".credentials.json").write_text(LOGIN)
    before = snapshot(store)
    yield
    assert changes(before, snapshot(store)) == []


def holding(root: Path) -> list[Path]:
    """List the files below a directory that hold a secret of a run's."""
    credential = provider.get("claude").demo_credential()
    secrets = [SECRET.encode(), *(value.encode() for value in credential.values())]
    files = [Path(at) / name for at, _, names in os.walk(root) for name in names]
    return [
        path
        for path in files
        if path.is_file() and any(secret in path.read_bytes() for secret in secrets)
    ]


def victims(life: Life, run_id: str, who: str) -> list[psutil.Process]:
    if who == "tmux server":
        pid = int(life.tmux("display-message", "-p", "#{pid}").stdout)
        return [psutil.Process(pid)]
    supervisor = life.supervisor(run_id)
    if who == "supervisor":
        return [supervisor]
    below = supervisor.children(recursive=True)
    named = {"agent": "/claude", "srt": "/node", "bwrap": "bwrap"}
    word = named[who.rpartition(" ")[2]]
    lines = {one: command_line(one) for one in below}
    found = [one for one, line in lines.items() if line and word in line[0]]
    assert found, list(lines.values())
    return [*([supervisor] if who == "supervisor and agent" else []), *found]


def assert_swept_clean(life: Life, spared: str) -> None:
    life.age()
    entries = life.sweep()
    assert {one["verdict"] for one in entries if one["name"] != spared} <= {"removed"}
    assert [one["verdict"] for one in entries if one["name"] == spared] == ["spared"]
    assert {spared} == {path.name for path in (life.state / "instances").glob("run_*")}
    alive = [path for path in holding(life.home.root) if spared not in str(path)]
    short = spared.removeprefix("run_")[:12]
    assert [path for path in alive if short not in str(path)] == []
    # A second one has nothing to do, and the living run goes on.
    assert [one["name"] for one in life.sweep()] == [spared]
    assert life.record(spared)["state"] == "running"


@pytest.mark.parametrize("who", DYING)
def test_a_detached_run_of_which_something_is_killed(slow: Life, who: str) -> None:
    env = slow.home.env | {"MY_SECRET": SECRET}
    # The living one is in the foreground, which no tmux server's death concerns.
    living = slow.popen("start", "--demo-server", slow.url, "--name", "living", "--", "-p", "hi")
    done = slow.start("--detach", "--env", "MY_SECRET", "--afk", "hi", env=env)
    assert done.returncode == 0, done.stderr
    run_id = done.stdout.strip()
    wait_until(lambda: [row["state"] for row in slow.json("list")["runs"]] == ["running"] * 2)
    [spared] = [row["run_id"] for row in slow.json("list")["runs"] if row["name"] == "living"]
    for victim in victims(slow, run_id, who):
        # The death of one may be another's: of Node.js and its children, say.
        with contextlib.suppress(psutil.NoSuchProcess):
            victim.kill()
    lock = slow.state / "runs" / f"{run_id}.lock"
    if "supervisor" in who:
        wait_until(lambda: [row["state"] for row in slow.json("list")["runs"]].count("crashed"))
    else:
        # The supervisor lives on to see it, and ends as after any other end.
        wait_until(lambda: not lock.exists())
        assert slow.record(run_id)["state"] in ("ended", "failed")
    assert_swept_clean(slow, spared)
    assert not lock.exists()
    slow.do("stop", spared)
    living.communicate(timeout=30)


@pytest.mark.parametrize("point", POINTS)
def test_a_supervisor_that_is_killed_at(life: Life, point: str) -> None:
    """At each step of its launch and its end."""
    argv = [sys.executable, patched.__file__, point, "SIGKILL", "start"]
    options = ["--demo-server", life.url, "--env", "MY_SECRET", "--", "-p", "hi"]
    process = subprocess.Popen(
        [*argv, *options],
        env=life.home.env | {"MY_SECRET": SECRET},
        cwd=life.workspace,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert process.wait(60) == -signal.SIGKILL
    life.age()
    assert {one["verdict"] for one in life.sweep()} <= {"removed"}
    assert holding(life.home.root) == []
    assert leftovers(life.home.root) == []
    assert processes(life.home.root) == []
    assert life.sweep() == []


def test_an_order_that_nobody_came_for_is_swept(life: Life) -> None:
    """Its writer and its reader were killed: the user's environment is in it."""
    order = life.state / "runs" / f"run_{'e' * 32}.order"
    order.parent.mkdir(mode=0o700, parents=True)
    life.state.chmod(0o700)
    order.touch(0o600)
    order.write_text(SECRET)
    assert life.sweep() == []
    life.age()
    assert [one["verdict"] for one in life.sweep()] == ["removed"]
    assert holding(life.home.root) == []


def test_a_stopped_supervisor_is_woken_to_end(slow: Life) -> None:
    run_id = slow.detach("--afk", "hi")
    slow.supervisor(run_id).suspend()
    assert slow.json("stop", run_id)["runs"][0]["how"] == "ended"
    assert slow.record(run_id)["state"] == "ended"


def test_a_dead_supervisors_room_is_swept_at_once_by_stop(slow: Life) -> None:
    run_id = slow.detach("--afk", "hi")
    agents = victims(slow, run_id, "agent")
    slow.supervisor(run_id).kill()
    wait_until(lambda: slow.json("list")["runs"][0]["state"] == "crashed")
    assert slow.json("stop", run_id)["runs"][0]["how"] == "was over"
    wait_until(lambda: not any(agent.is_running() for agent in agents))
    assert slow.record(run_id)["state"] == "crashed"
    assert slow.json("list")["runs"] == []


def test_two_stops_at_once_are_one(slow: Life) -> None:
    run_id = slow.detach("--afk", "hi")
    both = [slow.popen("stop", "--json", run_id) for _ in range(2)]
    for stop in both:
        said, complaint = stop.communicate(timeout=40)
        assert stop.returncode == 0, complaint
        assert b'"failed"' not in said
    assert slow.record(run_id)["state"] == "ended"


@pytest.mark.parametrize("how", ["deleted", "truncated", "newer"])
@pytest.mark.parametrize("everything", [True, False])
def test_a_live_run_whose_record_is_no_good_is_told_and_stopped_all_the_same(
    slow: Life, how: str, *, everything: bool
) -> None:
    run_id = slow.detach("--afk", "hi")
    projects = slow.state / "instances" / run_id / "home" / ".claude" / "projects"
    wait_until(lambda: list(projects.glob("*/*.jsonl")))
    damage(slow.state / "runs" / f"{run_id}.json", how)
    slow.age()
    done = slow.run("list")
    assert run_id in done.stderr
    done = slow.run("attach", run_id[:12])
    assert done.returncode == 73
    assert f"homeroom stop {run_id[:12]}" in done.stderr
    [row] = slow.json("stop", "--all" if everything else run_id[:12])["runs"]
    assert (row["run_id"], row["how"]) == (run_id, "ended")
    # Its supervisor was asked, kept what was said, and wrote the record anew.
    assert slow.record(run_id)["state"] == "ended"
    assert list((slow.state / "transcripts" / run_id).rglob("*.jsonl"))


def test_a_record_that_is_deleted_under_a_live_run_does_not_free_it(slow: Life) -> None:
    run_id = slow.detach("--afk", "hi")
    supervisor = slow.supervisor(run_id)
    (slow.state / "runs" / f"{run_id}.json").unlink()
    slow.age()
    [entry] = slow.sweep()
    assert (entry["name"], entry["verdict"], entry["reason"]) == (run_id, "spared", "it is alive")
    supervisor.terminate()
    # It writes the record anew when it ends.
    assert slow.wait_over(run_id)["state"] == "ended"
