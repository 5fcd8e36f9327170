"""What the tests of whole runs share: a model server for each worker, and its journal."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from homeroom.toolchain.store import Toolchain
from tests.conftest import PrivateHome
from tests.support.cli import run_homeroom
from tests.support.model_server import ModelServer, calls, model_server, says
from tests.support.runs import Journal, assert_nothing_left

ANSWER = "All is well in here."
# Said in a prompt, it makes the agent run the prompt's first line in its shell.
TOUCH = "make the file"


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


@pytest.fixture
def journal(shared_server: ModelServer) -> Journal:
    """What the shared server is asked during this test."""
    return Journal(shared_server)


@dataclass(frozen=True)
class Runner:
    """Starts runs of the real agent in one private home.

    Attributes:
        home: It.
        workspace: Where they work.
    """

    home: PrivateHome
    workspace: Path

    def start(
        self,
        server: Journal | ModelServer,
        *arguments: str | Path,
        options: Sequence[str | Path] = (),
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
        stdin: str = "",
    ) -> CompletedProcess[str]:
        """Run ``homeroom start`` with a model server to its end.

        Args:
            server: Answers.
            arguments: The agent's.
            options: homeroom's own.
            env: The whole environment, the home's own when None.
            cwd: Where; in the workspace when None.
            stdin: What is piped in.
        """
        return run_homeroom(
            *("start", "--demo-server", server.url, *options, "--", *arguments),
            env=self.home.env if env is None else env,
            cwd=cwd or self.workspace,
            stdin=stdin,
        )


@pytest.fixture
def runner(ready_home: PrivateHome, workspace: Path) -> Iterator[Runner]:
    """Runs in the test's private home and workspace. Nothing may be left of them."""
    yield Runner(ready_home, workspace)
    assert_nothing_left(ready_home.root)
