"""A real terminal for real TUIs: tmux, on a server of its own."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import psutil

from homeroom.testing.tree import remove_tree

HOLDER = Path(__file__).with_name("holder.py")
T = TypeVar("T")


class Terminal:
    """One program in one terminal, whose screen can be read and whose keys can be pressed.

    A context manager: the server and what runs in it are gone at the end, whatever
    happened. The user's own tmux, its options and its socket are not involved.
    """

    def __init__(self) -> None:
        self._directory: Path | None = None

    def start(
        self,
        argv: Sequence[str | Path],
        *,
        env: Mapping[str, str],
        cwd: Path,
        size: tuple[int, int] = (100, 30),
    ) -> None:
        """Start the program in the foreground, as a shell would, but with no shell.

        Args:
            argv: The program and its arguments, handed over as they are.
            env: Its whole environment; only a TERM that fits is added where there is none.
            cwd: Where it starts.
            size: Columns and rows.
        """
        tmux = shutil.which("tmux")
        assert tmux, "tmux is missing: `sh nox.sh -s test` installs what the tests need"
        self._directory = directory = Path(tempfile.mkdtemp(prefix="hr-tty-", dir="/tmp"))
        self._tmux = (tmux, "-u", "-f", "/dev/null", "-S", str(directory / "socket"))
        job = directory / "job"
        words = [os.fspath(word) for word in argv]
        job.write_text(json.dumps({"argv": words, "env": dict(env), "cwd": str(cwd)}))
        columns, rows = size
        # The pane stays if the holder itself fails, so that its words can be read.
        self._run(
            *("start-server", ";", "set-option", "-g", "remain-on-exit", "on", ";"),
            *("set-option", "-g", "status", "off", ";"),
            *("new-session", "-d", "-x", str(columns), "-y", str(rows), "--"),
            *(sys.executable, "-IS", str(HOLDER), str(job)),
        )
        self._wait(lambda: self._reported("pid") or self._reported("status"), 20, "not started")

    def send(self, *keys: str) -> None:
        """Press keys by tmux's names for them: ``Enter``, ``C-c``, ``Escape``, ``Up``."""
        self._run("send-keys", "--", *keys)

    def write(self, text: str) -> None:
        """Type text as it is, with no name of a key understood."""
        self._run("send-keys", "-l", "--", text)

    def screen(self) -> str:
        """Read what the screen shows now."""
        return self._run("capture-pane", "-p")

    def wait_for(self, expected: str | re.Pattern[str], timeout: float = 30) -> str:
        """Wait until the screen shows a text or matches a pattern, and return the screen.

        Raises:
            AssertionError: It did not in time; the message holds the last screen.
        """
        pattern = re.compile(re.escape(expected)) if isinstance(expected, str) else expected

        def matching() -> str | None:
            screen = self.screen()
            return screen if pattern.search(screen) else None

        return self._wait(matching, timeout, f"no {pattern.pattern!r}")

    def wait_exit(self, timeout: float = 30) -> int:
        """Wait until the program has ended, and return its status as a shell does.

        That is 128+n for a signal, and 127 if there was no such program.

        What it printed last may reach the screen a moment later: use ``wait_for``.

        Raises:
            AssertionError: It did not in time; the message holds the last screen.
        """
        return self._wait(lambda: self._reported("status"), timeout, "still running")

    def press_until_exit(self, *keys: str, timeout: float = 30) -> int:
        """Press keys until the program has ended, and return its status.

        A program that is still at work may take them for an interruption, so that they are
        pressed again after a while.

        Raises:
            AssertionError: It did not end in time; the message holds the last screen.
        """
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            for key in keys:
                self.send(key)
                time.sleep(0.2)
            with suppress(AssertionError):
                return self.wait_exit(3)
        return self.wait_exit(0)

    def pid(self) -> int:
        """Return the process id of the program, which leads the foreground's group."""
        return self._wait(lambda: self._reported("pid"), 0, "no program")

    def resize(self, columns: int, rows: int) -> None:
        """Change the terminal's size, of which the program hears by SIGWINCH."""
        self._run("resize-window", "-x", str(columns), "-y", str(rows))

    def close(self, patience: float = 10) -> None:
        """Take the terminal away, as a closed window does, and end what does not go.

        Args:
            patience: Seconds that the program has for its own end after the SIGHUP.
        """
        if self._directory is None:
            return
        # It fails when the server never came up or is gone, which is what is wanted.
        listed = subprocess.run(
            [*self._tmux, "list-panes", "-F", "#{pane_pid}"], capture_output=True, check=False
        )
        left: list[psutil.Process] = []
        for pid in map(int, listed.stdout.split()):
            with suppress(psutil.NoSuchProcess):
                left += psutil.Process(pid).children(recursive=True)
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, check=False)
        for process in psutil.wait_procs(left, patience)[1]:
            process.kill()
        remove_tree(self._directory)
        self._directory = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _reported(self, name: str) -> int | None:
        assert self._directory, "the terminal is not started"
        try:
            return int((self._directory / name).read_text())
        except FileNotFoundError:
            return None

    def _wait(self, look: Callable[[], T | None], timeout: float, complaint: str) -> T:
        deadline = time.monotonic() + timeout
        while (seen := look()) is None:
            late = time.monotonic() > deadline
            assert not late, f"{complaint} after {timeout:g} s, with this screen:\n{self.screen()}"
            time.sleep(0.05)
        return seen

    def _run(self, *command: str) -> str:
        done = subprocess.run(
            [*self._tmux, *command],
            env={"PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        assert done.returncode == 0, f"tmux {command[0]}: {done.stderr.strip()}"
        return done.stdout
