"""What the tests of a run's life share: a model server, and runs that nobody waits for."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, TypeVar

import psutil
import pytest

from homeroom.paths import locate
from homeroom.toolchain.store import Toolchain
from tests.conftest import PrivateHome
from tests.life.scene import OLD, Scene
from tests.support.cli import homeroom_argv, run_homeroom
from tests.support.model_server import ModelServer, calls, model_server, says
from tests.support.runs import assert_nothing_left, processes, records

T = TypeVar("T")
ANSWER = "All is well in here."


def wait_until(condition: Callable[[], T], timeout: float = 30) -> T:
    """Wait until something is so, and return it."""
    deadline = time.monotonic() + timeout
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not so after {timeout:g} s"
        time.sleep(0.02)
    return found


@dataclass(frozen=True)
class Life:
    """homeroom in one private home, with a model server.

    Attributes:
        home: It.
        workspace: Where runs work.
        url: The model server's.
    """

    home: PrivateHome
    workspace: Path
    url: str

    @property
    def state(self) -> Path:
        return self.home.root / "state"

    def run(
        self, *arguments: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None
    ) -> CompletedProcess[str]:
        """Run a homeroom command to its end."""
        own = self.home.env if env is None else env
        return run_homeroom(*arguments, env=own, cwd=cwd or self.workspace)

    def do(self, *arguments: str | Path) -> str:
        """Run a homeroom command that must succeed, and return what it printed."""
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def json(self, *arguments: str | Path) -> Any:
        return json.loads(self.do(*arguments, "--json"))

    def start(self, *arguments: str | Path, **more: Any) -> CompletedProcess[str]:
        """Run ``homeroom start`` with the model server to its end."""
        return self.run("start", "--demo-server", self.url, *arguments, **more)

    def detach(self, *arguments: str | Path) -> str:
        """Start a detached run, which must succeed, and return its id."""
        done = self.start("--detach", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def popen(self, *arguments: str | Path) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            homeroom_argv(*map(str, arguments)),
            env=self.home.env,
            cwd=self.workspace,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def record(self, run_id: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.state / "runs" / f"{run_id}.json").read_bytes())
        return found

    def wait_over(self, run_id: str) -> dict[str, Any]:
        """Wait until a run is over, and return its record."""
        wait_until(lambda: not (self.state / "runs" / f"{run_id}.lock").exists())
        return self.record(run_id)

    def tmux(self, *words: str) -> CompletedProcess[str]:
        socket = self.home.root / "tmp" / "tmux"
        return subprocess.run(
            ["tmux", "-S", str(socket), *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=20,
        )

    def wait_prompt(self, run_id: str) -> None:
        wait_until(lambda: "\u276f" in self.tmux("capture-pane", "-p", "-t", f"={run_id}:").stdout)

    def age(self) -> None:
        """Make everything that runs have left look old enough for a sweep."""
        past = time.time() - OLD
        for path in self.state.glob("*/*"):
            os.utime(path, (past, past), follow_symlinks=False)

    def sweep(self) -> list[dict[str, str]]:
        entries: list[dict[str, str]] = self.json("sweep")["entries"]
        return entries

    def supervisor(self, run_id: str) -> psutil.Process:
        return psutil.Process(self.record(run_id)["supervisor"])

    def config(self, text: str) -> None:
        path = self.home.root / "config" / "config.toml"
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text(text)

    def close(self) -> None:
        self.tmux("kill-server")
        for left in processes(self.home.root):
            left.kill()


@pytest.fixture(scope="session")
def life_server(toolchain: Toolchain) -> Iterator[ModelServer]:
    """A server for each worker: it answers, and on demand has a command run."""
    fixtures = [
        says(ANSWER, hasToolResult=True),
        calls("Bash", {"command": "git add -A && git commit -qm work"}, userMessage="commit it"),
        calls("Bash", {"command": "echo made > made-inside"}, userMessage="make the file"),
        calls("Bash", {"command": "sh ./try-git.sh > tried 2>&1"}, userMessage="try git"),
        says(ANSWER),
    ]
    with model_server(toolchain, fixtures, "--journal-max", "0") as server:
        yield server


@pytest.fixture(scope="session")
def life_slow_server(toolchain: Toolchain) -> Iterator[ModelServer]:
    """A server for each worker, whose answer takes far longer than any test waits."""
    options = ("--latency", "500", "--journal-max", "0")
    with model_server(toolchain, [says("slow " * 2000)], *options) as server:
        yield server


@pytest.fixture
def scene(private_home: PrivateHome) -> Scene:
    """Runs without an agent."""
    return Scene(locate(private_home.env), private_home.env)


@pytest.fixture
def life(ready_home: PrivateHome, workspace: Path, life_server: ModelServer) -> Iterator[Life]:
    """Runs in the test's private home. Nothing may be left of them."""
    found = Life(ready_home, workspace, life_server.url)
    yield from _watched(found)


@pytest.fixture
def slow(ready_home: PrivateHome, workspace: Path, life_slow_server: ModelServer) -> Iterator[Life]:
    """The same with a model that does not get to an end."""
    yield from _watched(Life(ready_home, workspace, life_slow_server.url))


def _watched(found: Life) -> Iterator[Life]:
    assert shutil.which("tmux"), "tmux is missing: `sh nox.sh -s test` installs what tests need"
    try:
        yield found
        if (found.state / "runs").exists():
            found.run("stop", "--all")
            found.tmux("kill-server")
            # Its socket is the server's, and stays when the last session is gone.
            (found.home.root / "tmp" / "tmux").unlink(missing_ok=True)
            assert_nothing_left(found.home.root)
            assert all(one["state"] in ("ended", "failed", "crashed") for one in records_of(found))
    finally:
        found.close()


def records_of(life: Life) -> list[dict[str, Any]]:
    try:
        return records(life.home.root)
    except ValueError:
        # A test has damaged one.
        return []
