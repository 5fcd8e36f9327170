"""Starts runs of the real agent, as tests need them."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

from homeroom.toolchain.store import MARK, Toolchain
from tests.conftest import PrivateHome
from tests.support import patched
from tests.support.cli import homeroom_argv, run_homeroom
from tests.support.model_server import ModelServer
from tests.support.runs import Journal

# Said in a prompt, it makes the agent run the prompt's first line in its shell.
TOUCH = "make the file"
# A sweep leaves alone what is younger than five minutes.
_OLD = 600


def wait_until(condition: Callable[[], object], timeout: float = 20) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"not so after {timeout:g} s"
        time.sleep(0.02)


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
        server: Journal | ModelServer | str,
        *arguments: str | Path,
        options: Sequence[str | Path] = (),
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
        stdin: str = "",
    ) -> CompletedProcess[str]:
        """Run ``homeroom start`` with a model server to its end.

        Args:
            server: Answers; or only its URL.
            arguments: The agent's.
            options: homeroom's own.
            env: The whole environment, the home's own when None.
            cwd: Where; in the workspace when None.
            stdin: What is piped in.
        """
        url = server if isinstance(server, str) else server.url
        demo = ("--demo-server", url)
        return self.start_plain(
            *arguments, options=(*demo, *options), env=env, cwd=cwd, stdin=stdin
        )

    def start_plain(
        self,
        *arguments: str | Path,
        options: Sequence[str | Path] = (),
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
        stdin: str = "",
    ) -> CompletedProcess[str]:
        """Do the same without a model server: the agent would ask the vendor."""
        return run_homeroom(
            *("start", *options, "--", *arguments),
            env=self.home.env if env is None else env,
            cwd=cwd or self.workspace,
            stdin=stdin,
        )

    def start_patched(
        self, moment: str, event: str, server: Journal | ModelServer, *arguments: str
    ) -> CompletedProcess[str]:
        """Do as ``start``, with something that goes wrong (see ``tests.support.patched``)."""
        argv = self.patched_argv(moment, event, server, *arguments)
        # Files, because an agent that outlives its supervisor would hold pipes open.
        with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
            process = subprocess.Popen(
                argv,
                env=self.home.env,
                cwd=self.workspace,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
            )
            status = process.wait(60)
            said = []
            for stream in (stdout, stderr):
                stream.seek(0)
                said.append(stream.read())
        return CompletedProcess(argv, status, *said)

    def popen(
        self, server: Journal | ModelServer, *arguments: str, cwd: Path | None = None
    ) -> "subprocess.Popen[str]":
        """Begin a run, and leave it to the test to end it."""
        return subprocess.Popen(
            homeroom_argv("start", "--demo-server", server.url, "--", *arguments),
            env=self.home.env,
            cwd=cwd or self.workspace,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def patched_argv(
        self, moment: str, event: str, server: Journal | ModelServer, *arguments: str
    ) -> list[str]:
        script = (sys.executable, patched.__file__, moment, event)
        return [*script, "start", "--demo-server", server.url, "--", *arguments]


def with_tool(toolchain: Toolchain, directory: Path, **replaced: Path) -> Path:
    """Make a toolchain that shares all but some tools with another, and return its root."""
    root = directory / "toolchain"
    root.mkdir(mode=0o755)
    document = json.loads((toolchain.root / MARK).read_bytes())
    for entry in toolchain.root.iterdir():
        if entry.name != MARK:
            (root / entry.name).symlink_to(entry)
    for name, program in replaced.items():
        own = f"own-{name}{program.suffix}"
        shutil.copy(program, root / own)
        document["tools"][name]["path"] = own
    (root / MARK).write_text(json.dumps(document))
    return root


def age(root: Path) -> None:
    """Make everything that runs have left look old enough for a sweep."""
    past = time.time() - _OLD
    for path in (root / "state").glob("*/*"):
        os.utime(path, (past, past))


def sweep(home: PrivateHome, *options: str) -> list[dict[str, str]]:
    done = run_homeroom("sweep", "--json", *options, env=home.env, cwd=home.home)
    assert (done.returncode, done.stderr) == (0, "")
    entries: list[dict[str, str]] = json.loads(done.stdout)["entries"]
    return entries
