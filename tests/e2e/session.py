"""homeroom at a terminal, as a person uses it."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import psutil

from homeroom.process import RUN_VARIABLE
from tests.conftest import PrivateHome
from tests.support.cli import homeroom_argv
from tests.support.runs import assert_nothing_left, environment, processes, the_one
from tests.support.terminal import Terminal

ANSWER = "All is well in here."
# The prompt's own line; a dialog would have a choice behind the mark.
PROMPT = re.compile("^\u276f\\s*$", re.MULTILINE)
FLAGS = re.MULTILINE | re.DOTALL
SHELL_PROMPT = re.compile(r"^ready>$", re.MULTILINE)
STATUS = re.compile(r"status: (\d+)$", re.MULTILINE)


class Session:
    """homeroom at a terminal, started from a shell or by itself.

    Args:
        terminal: Not started yet.
        home: Whose.
        workspace: Where.
    """

    def __init__(self, terminal: Terminal, home: PrivateHome, workspace: Path) -> None:
        self.terminal, self.home, self.workspace = terminal, home, workspace
        self._asked = 0

    def start(self, url: str, *arguments: str) -> None:
        argv = homeroom_argv("start", "--demo-server", url, "--", *arguments)
        self.terminal.start(argv, env=self.home.env, cwd=self.workspace)

    def start_shell(self) -> None:
        env = self.home.env | {"PS1": "ready> ", "HISTFILE": ""}
        argv = ["bash", "--noprofile", "--norc", "-i"]
        self.terminal.start(argv, env=env, cwd=self.workspace)
        self.terminal.wait_for(SHELL_PROMPT)

    def type_start(self, url: str, *arguments: str) -> None:
        self.type_how('{}; echo "status:" $?', url, *arguments)

    def type_how(self, how: str, url: str, *arguments: str) -> None:
        """Type a start into the shell, at the braces of a line."""
        argv = homeroom_argv("start", "--demo-server", url, "--", *arguments)
        self.enter(f"clear; {how.format(shlex.join(argv))}")

    def enter(self, line: str) -> None:
        self.terminal.write(line)
        self.terminal.send("Enter")

    def ask(self) -> None:
        """Ask the agent something that nobody has asked yet, and wait for the answer."""
        self.terminal.wait_for(PROMPT)
        self._asked += 1
        question = f"question {self._asked}"
        self.terminal.write(question)
        # The agent takes a key that comes along with a text for a part of it.
        self.terminal.wait_for(question)
        self.terminal.send("Enter")
        self.terminal.wait_for(re.compile(rf"{question}\s+● {ANSWER}.*{PROMPT.pattern}", FLAGS))

    def suspend(self) -> None:
        """Press Ctrl-Z, and have the shell clear the screen of all that the agent had drawn."""
        self.terminal.send("C-z")
        self.terminal.wait_for(SHELL_PROMPT)
        self.enter("clear; jobs")
        # Not the command itself: a long path breaks it anywhere in a narrow terminal.
        self.terminal.wait_for(re.compile(r"\A\[1\]\+\s+Stopped\s"))

    def leave(self) -> None:
        self.terminal.send("C-c")
        self.terminal.wait_for("Press Ctrl-C again to exit")
        self.terminal.send("C-c")

    def finish(self) -> None:
        """Ask once more, leave the agent, and end the shell: nothing is left."""
        self.ask()
        self.leave()
        self.terminal.wait_for(SHELL_PROMPT)
        self.end_shell()

    def send_behind(self) -> None:
        """Type ``bg``, and wait until the kernel has stopped the job a second time."""
        self.enter("clear; bg")
        # The shell tells of that as soon as it shows its prompt again.
        self.enter("clear; wait; jobs")
        self.terminal.wait_for(re.compile(r"^\[1\]\+\s+Stopped", re.MULTILINE))

    def status(self) -> int:
        """Wait until the shell tells the status of the last command."""
        # Not always at a line's start, since the agent may have left the cursor anywhere.
        screen = self.terminal.wait_for(STATUS)
        return int(STATUS.findall(screen)[-1])

    def end_shell(self) -> None:
        self.enter("exit")
        self.terminal.wait_exit()
        self.assert_nothing_left()

    def assert_nothing_left(self) -> None:
        assert_nothing_left(self.home.root)

    def agent(self, executable: Path) -> psutil.Process:
        return the_one(self.home.root, str(executable))

    def sandboxed(self) -> list[psutil.Process]:
        """List what runs in the sandbox of a run, and the sandbox itself."""
        found = processes(self.home.root)
        return [one for one in found if RUN_VARIABLE in environment(one)]

    def stop_all(self) -> str:
        """Run ``homeroom stop --all`` elsewhere, and return what it says."""
        argv, env = homeroom_argv("stop", "--all"), self.home.env
        done = subprocess.run(
            argv, env=env, cwd=self.workspace, check=True, capture_output=True, text=True
        )
        return done.stdout

    def is_terminal_held_by(self, process: psutil.Process) -> bool:
        terminal = os.stat(f"/proc/{self.terminal.pid()}/fd/0")
        try:
            held = [entry.stat() for entry in os.scandir(f"/proc/{process.pid}/fd")]
        except FileNotFoundError:
            # It has ended, or closed one, meanwhile.
            return False
        return any(os.path.samestat(terminal, each) for each in held)
