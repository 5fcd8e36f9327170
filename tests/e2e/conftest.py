"""What the tests of whole runs share: a model server for each worker, and its journal."""

import socket
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from homeroom.toolchain.store import Toolchain
from tests.conftest import PrivateHome
from tests.e2e.runner import TOUCH, Runner
from tests.e2e.session import ANSWER, Session
from tests.e2e.slow import SlowSandbox
from tests.e2e.tools import furnish
from tests.support.model_server import ModelServer, calls, model_server, says
from tests.support.runs import Journal, assert_nothing_left
from tests.support.terminal import Terminal
from tests.support.tree import Snapshot, changes, snapshot


@pytest.fixture(scope="session")
def shared_server(toolchain: Toolchain) -> Iterator[ModelServer]:
    """A server for each worker: it answers, and on demand has a file made."""
    fixtures = [
        says(ANSWER, hasToolResult=True),
        calls("Bash", {"command": "echo made > made-inside"}, userMessage=TOUCH),
        says(ANSWER),
    ]
    with model_server(toolchain, fixtures, "--journal-max", "0") as server:
        yield server


@pytest.fixture(scope="session")
def slow_server(toolchain: Toolchain) -> Iterator[ModelServer]:
    """A server for each worker, whose answer takes far longer than any test waits."""
    options = ("--latency", "500", "--journal-max", "0")
    with model_server(toolchain, [says("slow " * 2000)], *options) as server:
        yield server


@pytest.fixture
def journal(shared_server: ModelServer) -> Journal:
    """What the shared server is asked during this test."""
    return Journal(shared_server)


@pytest.fixture
def free_port() -> int:
    """A port of this machine on which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


@pytest.fixture
def runner(ready_home: PrivateHome, workspace: Path) -> Iterator[Runner]:
    """Runs in the test's private home and workspace. Nothing may be left of them."""
    yield Runner(ready_home, workspace)
    assert_nothing_left(ready_home.root)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    with Terminal() as found:
        yield found


@pytest.fixture
def session(terminal: Terminal, ready_home: PrivateHome, workspace: Path) -> Session:
    return Session(terminal, ready_home, workspace)


@pytest.fixture
def slow(ready_home: PrivateHome, toolchain: Toolchain, tmp_path: Path) -> SlowSandbox:
    return SlowSandbox(ready_home, toolchain, tmp_path / "slow")


@pytest.fixture
def furnished(runner: Runner) -> Iterator[dict[str, Path]]:
    files = furnish(runner.home)
    yield files
    # These are no leftovers of the run.
    for name in ("record", "other-run"):
        files[name].unlink()
    files["other-run"].parent.rmdir()
    files["other-run"].parent.parent.rmdir()


@pytest.fixture
def user_files_stay(runner: Runner) -> Iterator[None]:
    """Fail when a run changes what is in the home by the time that it starts."""
    before: Snapshot = {}
    real = Runner.start_plain

    def start_plain(self: Runner, *arguments: str, **more: Any) -> CompletedProcess[str]:
        before.update(snapshot(self.home.home))
        return real(self, *arguments, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Runner, "start_plain", start_plain)
        yield
    if before:
        assert changes(before, snapshot(runner.home.home)) == []
