"""The contract with the real CLI in it: what it does in its room, and what it leaves alone."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from homeroom import environment
from homeroom.credential.secret import Secret
from homeroom.files import ensure_private_dir
from homeroom.provider import Message, Provider, Room
from homeroom.provider.common import apply
from homeroom.testing.model_server import Fixture, ModelServer, calls, model_server, says
from homeroom.testing.samples import write_files
from homeroom.testing.terminal import Terminal
from homeroom.testing.tree import changes, snapshot
from homeroom.toolchain.store import TOOLCHAIN_VARIABLE, Toolchain
from homeroom.workspace import find

ANSWER = "All is well in here."
MAKE = "make the file"
MADE = "made-inside"
_PATIENCE = 60.0
# A dialog may come up after the prompt has been there for a moment.
_SETTLED = 1.5


class LiveProviderContract(ABC):
    """What an adapter's real CLI does, answered by a model server.

    It needs tmux, and a pytest fixture ``toolchain`` that gives an installed toolchain with
    the adapter's tool in it; a test class may define its own, as a method.

    Attributes:
        leave: Keys that end the CLI at its prompt, by tmux's names for them.
        moved_by: Variables that move the CLI's store or lead it elsewhere.
        login_status: Arguments that tell by the exit status whether there is a login;
            empty for a CLI that cannot tell.
    """

    leave: ClassVar[Sequence[str]]
    moved_by: ClassVar[Sequence[str]]
    login_status: ClassVar[Sequence[str]]

    @abstractmethod
    def provider(self) -> Provider:
        """Make the adapter."""

    @abstractmethod
    def make(self, name: str) -> tuple[str, Mapping[str, object]]:
        """Give the call of a tool, name and arguments, that makes a file in the workspace."""

    def workspaces(self, toolchain: Toolchain) -> Sequence[str]:
        """Name workspaces that the CLI keeps transcripts of; ``linked`` is a symlink.

        A CLI that cannot keep one of these names its own.
        """
        del toolchain
        return ("v1.2/größe 日本 🙂", "long-" * 45, "linked")

    # --- in the sandbox -------------------------------------------------------------------

    def test_one_shot_answers(self, tmp_path: Path, toolchain: Toolchain) -> None:
        """The answer is on stdout, alone, and the status is 0."""
        with self._server(toolchain) as server:
            done = self._start(tmp_path, toolchain, server, *self._asked("hello"))
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == ANSWER
        _assert_nothing_left(tmp_path)

    def test_a_tool_writes_into_the_workspace(self, tmp_path: Path, toolchain: Toolchain) -> None:
        """The CLI does what the model calls for, without asking anybody."""
        with self._server(toolchain) as server:
            done = self._start(tmp_path, toolchain, server, *self._asked(MAKE))
        assert (done.returncode, done.stdout.strip()) == (0, ANSWER), done.stderr
        assert (tmp_path / "user" / "work" / MADE).exists(), "nothing was made"
        _assert_nothing_left(tmp_path)

    def test_the_exit_status_is_the_clis_own(self, tmp_path: Path, toolchain: Toolchain) -> None:
        """Its version is the pinned one, and an option that it has not is its own affair."""
        tool = toolchain.tools[self.provider().tool]
        with self._server(toolchain) as server:
            done = self._start(tmp_path, toolchain, server, "--version")
            assert (done.returncode, tool.version in done.stdout) == (0, True), done.stderr
            bad = self._start(tmp_path, toolchain, server, "--kit-no-such-option")
        assert bad.returncode not in (0, *range(64, 79)), "that would be homeroom's own"

    def test_the_first_start_is_at_the_prompt(self, tmp_path: Path, toolchain: Toolchain) -> None:
        """No dialog, neither at once nor a moment later; and nothing is left afterwards."""
        adapter = self.provider()
        with self._server(toolchain) as server, Terminal() as terminal:
            argv, env, work = self._command(tmp_path, toolchain, server)
            terminal.start(argv, env=env, cwd=work)
            _wait(lambda: adapter.is_at_prompt(terminal.screen()), terminal)
            time.sleep(_SETTLED)
            assert adapter.is_at_prompt(terminal.screen()), terminal.screen()
            terminal.write("hello")
            _wait(lambda: "hello" in terminal.screen(), terminal)
            # Keys that come too fast may count as pasted, and Enter then as a part of it.
            time.sleep(0.5)
            terminal.send("Enter")
            terminal.wait_for(ANSWER)
            _wait(lambda: adapter.is_at_prompt(terminal.screen()), terminal)
            assert terminal.press_until_exit(*self.leave) == 0, terminal.screen()
        _assert_nothing_left(tmp_path)

    # --- without it, so that only the adapter's pins keep the CLI in its home -----------------

    def test_it_resolves_only_to_its_home(self, tmp_path: Path, toolchain: Toolchain) -> None:
        """Whatever the caller's environment says, the CLI reads and writes its own home."""
        user = tmp_path / "user"
        for name in self.moved_by:
            write_files(user, {f"decoy-{name}/here": "mine"})
        hostile = {name: str(user / f"decoy-{name}") for name in self.moved_by}
        hostile |= {"HOME": str(user), "XDG_CONFIG_HOME": str(user), "XDG_RUNTIME_DIR": str(user)}
        work = tmp_path / "work"
        work.mkdir()
        before = snapshot(user)
        with self._server(toolchain) as server:
            room = self._room(tmp_path / "home", work, toolchain, server)
            done = self._run_unconfined(room, hostile, *self._asked("hello"))
        assert (done.returncode, done.stdout.strip()) == (0, ANSWER), done.stderr
        assert changes(before, snapshot(user)) == [], "the user's own home was written to"
        assert self.provider().transcripts(room.home), "nothing of the conversation is in the home"

    def test_transcripts_are_where_they_are_looked_for(
        self, tmp_path: Path, toolchain: Toolchain
    ) -> None:
        """In a workspace with any name: long, dotted, not ASCII, reached by a symlink."""
        (real := tmp_path / "real").mkdir()
        (tmp_path / "linked").symlink_to(real)
        with self._server(toolchain) as server:
            for number, name in enumerate(self.workspaces(toolchain)):
                work = tmp_path / name
                work.mkdir(parents=True, exist_ok=True)
                room = self._room(tmp_path / f"home-{number}", work, toolchain, server)
                done = self._run_unconfined(room, {}, *self._asked(f"hello {number}"))
                assert (done.returncode, done.stdout.strip()) == (0, ANSWER), done.stderr
                found = self.provider().locate_transcript(room.home, room.workspace.directory)
                assert found is not None, f"{name}: {list(self.provider().transcripts(room.home))}"
                said = self._read(found)
                assert any(one.role == "user" and f"hello {number}" in one.text for one in said), (
                    said
                )
                assert any(one.role == "assistant" and ANSWER in one.text for one in said), said

    def test_the_login_is_the_rooms(self, tmp_path: Path, toolchain: Toolchain) -> None:
        """The CLI itself says that it is logged in with a credential, and not without."""
        if not self.login_status:
            return
        work = tmp_path / "work"
        work.mkdir()
        with self._server(toolchain) as server:
            for credential in (True, False):
                home = tmp_path / f"home-{credential}"
                room = self._room(home, work, toolchain, server)
                done = self._run_unconfined(room, {}, *self.login_status, credential=credential)
                assert (done.returncode == 0) == credential, done.stdout + done.stderr

    def test_a_conversation_goes_on_in_a_new_room(
        self, tmp_path: Path, toolchain: Toolchain
    ) -> None:
        """The transcript alone, in another home, is enough for the CLI to go on with it."""
        work = tmp_path / "work"
        work.mkdir()
        with self._server(toolchain) as server:
            old = self._room(tmp_path / "old", work, toolchain, server)
            first = self._run_unconfined(old, {}, *self._asked("the first question"))
            assert first.returncode == 0, first.stderr
            transcript = self.provider().locate_transcript(old.home, old.workspace.directory)
            assert transcript is not None, "there is no transcript to go on with"
            new = self._room(tmp_path / "new", work, toolchain, server)
            asked = self._asked("the second question")
            seed, arguments = self.provider().resume(new, transcript, asked)
            apply(new.home, seed)
            second = self._run_unconfined(new, {}, *arguments)
            assert (second.returncode, second.stdout.strip()) == (0, ANSWER), second.stderr
        told = [self._said(path) for path in self.provider().transcripts(new.home)]
        assert any(
            "the first question" in said and "the second question" in said for said in told
        ), "the CLI began a conversation of its own"

    # --- how ------------------------------------------------------------------------------

    def _asked(self, prompt: str) -> Sequence[str]:
        return self.provider().unattended(prompt)

    def _fixtures(self) -> list[Fixture]:
        tool, arguments = self.make(MADE)
        called = calls(tool, arguments, userMessage=MAKE, hasToolResult=False)
        return [says(ANSWER, hasToolResult=True), called, says(ANSWER)]

    @contextlib.contextmanager
    def _server(self, toolchain: Toolchain) -> Iterator[ModelServer]:
        with model_server(toolchain, self._fixtures()) as server:
            yield server

    def _command(
        self, root: Path, toolchain: Toolchain, server: ModelServer, *arguments: str
    ) -> tuple[list[str], dict[str, str], Path]:
        adapter = type(self.provider())
        reference = f"{adapter.__module__}:{adapter.__qualname__}"
        name = self.provider().name
        start = ("start", name, "--demo-server", server.url, "--", *arguments)
        work = root / "user" / "work"
        work.mkdir(parents=True, exist_ok=True)
        env = {
            "HOME": str(root / "user"),
            "HOMEROOM_HOME": str(root / "r"),
            "LANG": "C.UTF-8",
            "PATH": os.environ["PATH"],
            # Where the adapter's own module is; of homeroom's process alone.
            "PYTHONPATH": os.pathsep.join(sys.path),
            TOOLCHAIN_VARIABLE: str(toolchain.root),
        }
        return [sys.executable, "-m", "homeroom.testing.run", reference, *start], env, work

    def _start(
        self, root: Path, toolchain: Toolchain, server: ModelServer, *arguments: str
    ) -> subprocess.CompletedProcess[str]:
        argv, env, work = self._command(root, toolchain, server, *arguments)
        return _run(argv, {**env, "TERM": "xterm"}, work)

    def _room(self, home: Path, work: Path, toolchain: Toolchain, server: ModelServer) -> Room:
        tool = toolchain.tools[self.provider().tool]
        ensure_private_dir(home)
        ensure_private_dir(home / "tmp")
        place = find(work, [], [])
        room = Room(home, place, tool.version, tool.path, server.url)
        for seed in self.provider().seed(room):
            apply(home, seed)
        return room

    def _run_unconfined(
        self, room: Room, hostile: Mapping[str, str], *arguments: str, credential: bool = True
    ) -> subprocess.CompletedProcess[str]:
        adapter = self.provider()
        demo = adapter.demo_credential()
        carried: Mapping[str, Secret] = adapter.inject(room, demo) if credential else {}
        caller = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **hostile}
        env = {
            **environment.allowed(caller, []),
            "HOME": str(room.home),
            "TMPDIR": str(room.home / "tmp"),
            **adapter.environment(room),
            **{name: value.reveal() for name, value in carried.items()},
        }
        argv = adapter.command(room, arguments)
        return _run(argv, env, room.workspace.directory)

    def _said(self, path: Path) -> str:
        return "\n".join(message.text for message in self._read(path))

    def _read(self, path: Path) -> list[Message]:
        with path.open("rb") as lines:
            return list(self.provider().read_transcript(lines))


def _run(
    argv: Sequence[str], env: Mapping[str, str], cwd: Path
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(argv),
        env=dict(env),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )


def _wait(condition: object, terminal: Terminal) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, f"not so in time:\n{terminal.screen()}"
        time.sleep(0.05)


def _assert_nothing_left(root: Path) -> None:
    """Fail when a run has left its room, or a process that knows of it."""
    import psutil

    left = [
        path
        for path in (root / "r" / "state" / "instances").glob("*")
        if path.name.startswith("run_")
    ]
    assert left == [], f"left behind: {left}"
    deadline = time.monotonic() + 5
    while True:
        alive = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                words = [*process.environ().values(), *process.cmdline()]
                if process.pid != os.getpid() and any(str(root / "r") in word for word in words):
                    alive.append(process.name())
        if not alive:
            return
        assert time.monotonic() < deadline, f"left running: {alive}"
        time.sleep(0.05)
