"""Rooms in memory: all works as on the disk, and a power cut leaves nothing of them."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import psutil
import pytest

from homeroom import provider
from tests.life.conftest import ANSWER, Life, wait_until
from tests.life.scene import OLD
from tests.support import patched
from tests.support.memory import Memory, memory

SECRET = "s3cret-that-must-not-come-to-a-disk"
IN_MEMORY = '[run]\ncredentials_in = "memory"\n'


@dataclass(frozen=True)
class Scene:
    """homeroom in one private home, in the namespace of a directory in memory."""

    life: Life
    memory: Memory

    @property
    def env(self) -> dict[str, str]:
        return self.life.home.env | {"XDG_RUNTIME_DIR": str(self.memory.place), "MINE": SECRET}

    @property
    def place(self) -> Path:
        [place] = self.memory.seen.iterdir()
        return place

    def run(
        self, *arguments: str | Path, env: dict[str, str] | None = None
    ) -> CompletedProcess[str]:
        own = self.env if env is None else env
        return self.memory.run(*arguments, env=own, cwd=self.life.workspace)

    def do(self, *arguments: str | Path, env: dict[str, str] | None = None) -> str:
        done = self.run(*arguments, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def json(self, *arguments: str | Path, env: dict[str, str] | None = None) -> Any:
        return json.loads(self.do(*arguments, "--json", env=env))

    def start(self, *arguments: str) -> CompletedProcess[str]:
        return self.run("start", "--demo-server", self.life.url, "--env", "MINE", *arguments)

    def popen(self, argv: list[str]) -> "subprocess.Popen[bytes]":
        null = subprocess.DEVNULL
        return subprocess.Popen(argv, env=self.env, stdin=null, stdout=null, stderr=null)

    def on_disk(self) -> list[Path]:
        """List the files on the disk that hold a secret of a run's."""
        demo = [provider.get(name).demo_credential() for name in ("claude", "codex")]
        values = [SECRET.encode(), *(value.encode() for one in demo for value in one.values())]
        files = [Path(at) / name for at, _, names in os.walk(self.life.home.root) for name in names]
        return [
            path
            for path in files
            if path.is_file() and any(value in path.read_bytes() for value in values)
        ]

    def age(self) -> None:
        self.life.age()
        for path in self.place.glob("instances/*"):
            old = path.stat().st_mtime - OLD
            os.utime(path, (old, old))

    def assert_nothing_left(self) -> None:
        assert [path.name for path in (self.place / "instances").iterdir()] == ["CACHEDIR.TAG"]
        assert {path.name for path in self.place.iterdir()} <= {".settled", "instances", "trash"}
        assert list((self.place / "trash").iterdir()) == []


@pytest.fixture
def in_memory(life: Life) -> Iterator[Scene]:
    yield from _scene(life)


@pytest.fixture
def slow_in_memory(slow: Life) -> Iterator[Scene]:
    yield from _scene(slow)


def _scene(life: Life) -> Iterator[Scene]:
    life.config(IN_MEMORY)
    with memory() as found:
        scene = Scene(life, found)
        yield scene
        if found.holder.poll() is None:
            scene.run("stop", "--all")


@pytest.mark.parametrize(("agent", "prompt"), [("claude", ("-p", "hi")), ("codex", ("exec", "hi"))])
def test_an_agent_answers_from_a_room_in_memory_that_is_gone_afterwards(
    in_memory: Scene, agent: str, prompt: tuple[str, ...]
) -> None:
    done = in_memory.start(agent, "--", *prompt)
    assert (done.returncode, done.stdout.strip()) == (0, ANSWER), done.stderr
    in_memory.assert_nothing_left()
    assert not (in_memory.life.state / "instances").exists()
    [run] = in_memory.json("list", "--all")["runs"]
    assert run["state"] == "ended"
    # Its transcript is kept on the disk, without secrets.
    assert ANSWER in in_memory.do("transcript", run["run_id"])
    assert in_memory.on_disk() == []


def test_a_detached_run_is_found_from_where_nobody_knows_of_the_memory(
    slow_in_memory: Scene,
) -> None:
    scene = slow_in_memory
    done = scene.start("--detach", "--name", "one", "--afk", "hi")
    assert done.returncode == 0, done.stderr
    run_id = done.stdout.strip()
    [room] = (scene.place / "instances").glob("run_*")
    assert room.name == run_id
    assert not (scene.life.state / "instances").exists()
    assert scene.on_disk() == []
    # Neither the variable nor the configuration says so any more: a cron job, a change of mind.
    scene.life.config("")
    bare = scene.life.home.env
    [row] = scene.json("list", env=bare)["runs"]
    assert (row["run_id"], row["state"]) == (run_id, "running")
    assert [one["verdict"] for one in scene.json("sweep", env=bare)["entries"]] == ["spared"]
    wait_until(lambda: "hi" in scene.run("transcript", "one", env=bare).stdout)
    # Nothing is seen by another run, be it on the disk.
    other = scene.json("dry-run", "--demo-server", scene.life.url, env=bare)
    rules = {rule["path"] for rule in other["settings"]["filesystem"]["denyRead"]}
    place = scene.memory.place / scene.place.name
    assert str(place) in rules
    assert other["instance"]["home"].startswith(str(scene.life.state))
    scene.do("stop", "one", env=bare)
    scene.assert_nothing_left()
    assert scene.life.record(run_id)["state"] == "ended"


@pytest.mark.parametrize("point", ["half a room", "injected", "started", "archiving", "half wiped"])
def test_a_supervisor_that_is_killed_leaves_nothing_on_the_disk_and_is_swept_in_memory(
    in_memory: Scene, point: str
) -> None:
    scene = in_memory
    argv = scene.memory.argv(scene.life.workspace, "start")
    at = argv.index("-m")
    options = ["--demo-server", scene.life.url, "--env", "MINE", "--", "-p", "hi"]
    argv = [*argv[:at], patched.__file__, point, "SIGKILL", "start", *options]
    assert scene.popen(argv).wait(60) == -signal.SIGKILL
    assert scene.on_disk() == []
    assert list(scene.place.glob("instances/run_*")) or point == "half wiped"
    scene.age()
    scene.life.config("")
    bare = scene.life.home.env
    dry = scene.json("sweep", "--dry-run", env=bare)["entries"]
    assert {one["verdict"] for one in dry} == {"would remove"}
    assert {one["verdict"] for one in scene.json("sweep", env=bare)["entries"]} == {"removed"}
    scene.assert_nothing_left()
    assert scene.json("sweep", env=bare)["entries"] == []


def test_after_a_power_cut_the_disk_holds_no_credential_and_the_run_is_closed(
    slow_in_memory: Scene,
) -> None:
    scene = slow_in_memory
    done = scene.start("--detach", "--afk", "hi")
    run_id = done.stdout.strip()
    supervisor = scene.life.supervisor(run_id)
    for process in (supervisor, *supervisor.children(recursive=True)):
        # One that has died with another is as good.
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    scene.life.tmux("kill-server")
    scene.memory.lose()
    assert scene.on_disk() == []
    scene.life.age()
    assert [one["name"] for one in scene.life.sweep()] == [run_id]
    assert scene.life.record(run_id)["state"] == "crashed"


def test_rooms_cannot_read_each_other_wherever_they_are(slow_in_memory: Scene, life: Life) -> None:
    scene = slow_in_memory
    assert scene.start("--detach", "--afk", "hi").returncode == 0
    [room] = (scene.place / "instances").glob("run_*")
    inside = scene.memory.place / scene.place.name / "instances" / room.name
    on_disk = life.state / "instances" / f"run_{'f' * 32}"
    on_disk.mkdir(parents=True, mode=0o700)
    on_disk.parent.chmod(0o700)
    (on_disk / "canary").write_text("read")
    victims = [inside / "canary", inside / "home" / ".claude.json", on_disk / "canary"]
    script = "".join(f"cat {path} >&2 && echo read; " for path in victims)
    script += f"cd {inside.parent} && ls -A; echo done"
    (life.workspace / "try-git.sh").write_text(script)
    for config, env in (("", life.home.env), (IN_MEMORY, scene.env)):
        life.config(config)
        run = ("start", "--demo-server", life.url, "--", "-p", "try git")
        done = scene.run(*run, "--dangerously-skip-permissions", env=env)
        assert done.returncode == 0, done.stderr
        *refusals, last = (life.workspace / "tried").read_text().splitlines()
        assert last == "done"
        own = [line for line in refusals if line.startswith("run_")]
        assert room.name not in own
        assert len(own) == (1 if config else 0)
        assert "read" not in refusals
        assert sum("No such file" in line for line in refusals) == len(victims)
    shutil.rmtree(on_disk)


def test_a_first_room_in_memory_waits_for_runs_that_could_look(
    slow_in_memory: Scene,
) -> None:
    scene = slow_in_memory
    scene.life.config("")
    bare = scene.life.home.env
    run_id = scene.do("start", "--demo-server", scene.life.url, "--detach", "--afk", "hi", env=bare)
    scene.life.config(IN_MEMORY)
    done = scene.start("--", "-p", "hi")
    assert done.returncode == 75
    assert run_id[:12] in done.stderr
    assert list(scene.memory.seen.iterdir()) == []
    scene.do("stop", "--all")


def test_first_rooms_in_memory_that_are_made_at_once_do_not_wait(in_memory: Scene) -> None:
    argv = in_memory.memory.argv(in_memory.life.workspace, "start", "--demo-server")
    argv += [in_memory.life.url, "--", "-p", "hi"]
    assert [run.wait(60) for run in [in_memory.popen(argv) for _ in range(4)]] == [0] * 4
    in_memory.assert_nothing_left()


def test_check_tells_where_rooms_are_and_what_was_left(in_memory: Scene) -> None:
    scene = in_memory
    assert scene.start("--", "-p", "hi").returncode == 0
    (scene.place / "instances" / "notes.txt").touch()
    done = scene.run("check", "--only", "state", "--json")
    seen = {one["name"]: one["seen"] for one in json.loads(done.stdout)["probes"]}
    assert seen["state.memory"].startswith(f"rooms are kept in {scene.memory.place}/homeroom-")
    assert "notes.txt" in seen["state.foreign"]
    (scene.place / "instances" / "notes.txt").unlink()
