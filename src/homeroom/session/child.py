"""The process that a session holds: a child of ours, or the first process of a container."""

import signal
import subprocess
from typing import Any, Protocol

from homeroom import process
from homeroom.errors import ToolError
from homeroom.sandbox import Command


class Child(Protocol):
    """A process that is started, signalled and waited for.

    Attributes:
        pid: By which it is known here; the agent is among its descendants.
        returncode: How it ended, as ``subprocess.Popen`` says it; None while it lives.
    """

    pid: int
    returncode: int | Any

    def poll(self) -> int | None:
        """Look whether it has ended, without waiting."""

    def wait(self) -> int:
        """Wait until it has ended."""

    def fileno(self) -> int | None:
        """Give a descriptor that is readable at its end, None where SIGCHLD tells of it."""

    def ask(self, number: int) -> None:
        """Send it a signal; one that is gone is no error."""

    def kill(self) -> None:
        """Kill it and whatever would outlive it."""


class Process(subprocess.Popen[bytes]):
    """A child of this process."""

    def fileno(self) -> None:
        """Say that the kernel tells of its end."""

    def ask(self, number: int) -> None:
        """Send it a signal."""
        process.send(self.pid, number)

    def kill(self) -> None:
        """Kill its process group: srt's proxies would outlive srt."""
        process.send_group(self.pid, signal.SIGKILL)


def spawn(command: Command) -> Child:
    """Start a process on this machine, with this process's own streams.

    Args:
        command: What to start.

    Raises:
        ToolError: It cannot be executed.
    """
    try:
        return Process(
            command.argv,
            env=dict(command.environment),
            cwd=command.directory,
            # A session of its own: no signal of the terminal reaches it but by us.
            start_new_session=True,
        )
    except OSError as error:
        raise ToolError(
            f"cannot start {command.argv[0]}: {error.strerror}",
            "run `homeroom setup` to repair the toolchain",
        ) from error
