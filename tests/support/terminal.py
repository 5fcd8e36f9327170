"""A real terminal for real TUIs: tmux, on a server of its own."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.tree import remove_tree


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
        """Start the program.

        Args:
            argv: The program and its arguments, handed over as they are.
            env: Its whole environment; tmux adds TERM, TMUX and TMUX_PANE.
            cwd: Where it starts.
            size: Columns and rows.
        """
        tmux = shutil.which("tmux")
        assert tmux, "tmux is missing: `sh nox.sh -s test` installs what the tests need"
        self._directory = Path(tempfile.mkdtemp(prefix="hr-tty-", dir="/tmp"))
        self._tmux = (tmux, "-u", "-f", "/dev/null", "-S", str(self._directory / "s"))
        self._environment = dict(env)
        columns, rows = size
        # Two words at least, since tmux gives a single one to a shell.
        program = ("/usr/bin/env", *(os.fspath(word) for word in argv))
        # The pane outlives the program, whose last screen and status can be read then;
        # the note that tmux would write on that screen (3.3 and later) is left out.
        self._run(
            *("start-server", ";", "set-option", "-g", "remain-on-exit", "on", ";"),
            *("set-option", "-g", "-q", "remain-on-exit-format", "", ";"),
            *("set-option", "-g", "status", "off", ";"),
            *("new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", str(cwd), "--"),
            *program,
        )

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
        deadline = time.monotonic() + timeout
        while True:
            screen = self.screen()
            if pattern.search(screen):
                return screen
            if time.monotonic() > deadline:
                message = f"no {pattern.pattern!r} after {timeout:g} s on this screen:\n{screen}"
                raise AssertionError(message)
            time.sleep(0.05)

    def resize(self, columns: int, rows: int) -> None:
        """Change the terminal's size, of which the program hears by SIGWINCH."""
        self._run("resize-window", "-x", str(columns), "-y", str(rows))

    def pid(self) -> int:
        """Return the process id of the program."""
        return int(self._ask("#{pane_pid}"))

    def wait_exit(self, timeout: float = 30) -> int:
        """Wait until the program has ended, and return its status (128+n for a signal).

        Raises:
            AssertionError: It did not in time; the message holds the last screen.
        """
        deadline = time.monotonic() + timeout
        while True:
            asked = "#{pid} #{pane_dead} #{pane_dead_status} #{pane_dead_signal}"
            server, dead, status, ended_by = self._ask(asked).split(" ")
            # Dead is the pane whose output is read to the end; its status may come later.
            if dead == "1" and (status or ended_by):
                return int(status) if status else 128 + int(ended_by)
            if dead == "1":
                # tmux 3.3a may lose the death of its child (one in six measured): tell it.
                os.kill(int(server), signal.SIGCHLD)
            if time.monotonic() > deadline:
                message = f"still running after {timeout:g} s, with this screen:\n{self.screen()}"
                raise AssertionError(message)
            time.sleep(0.05)

    def close(self) -> None:
        """End the server and whatever runs in it; closing twice is no error."""
        if self._directory is None:
            return
        # It fails when the server is gone already, which is what is wanted.
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, check=False)
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

    def _ask(self, what: str) -> str:
        return self._run("display-message", "-p", what).rstrip("\n")

    def _run(self, *command: str) -> str:
        done = subprocess.run(
            [*self._tmux, *command],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        assert done.returncode == 0, f"tmux {command[0]}: {done.stderr.strip()}"
        return done.stdout
