"""A sandbox that takes as long to come up as a test wants."""

import os
import shutil
from pathlib import Path

import psutil

from homeroom.toolchain.store import Toolchain
from tests.conftest import PrivateHome
from tests.e2e.runner import wait_until
from tests.support.runs import command_line, processes

# Says that it is there, and does nothing before it is told to.
SCRIPT = """\
#!/bin/sh
: >'{here}'
until [ -e '{go}' ]; do sleep 0.02; done
exec '{real}' "$@"
"""


class SlowSandbox:
    """A bubblewrap that takes its time, and a look at what has been started in a home.

    Attributes:
        home: The home, in which that bubblewrap is found first.
    """

    def __init__(self, home: PrivateHome, toolchain: Toolchain, directory: Path) -> None:
        directory.mkdir()
        self._here, self._go = directory / "here", directory / "go"
        script, real = directory / "bwrap", shutil.which("bwrap", path=home.env["PATH"])
        script.write_text(SCRIPT.format(real=real, here=self._here, go=self._go))
        script.chmod(0o755)
        self._claude = str(toolchain.tools["claude"].path)
        self.home = home.with_env(PATH=os.pathsep.join([str(directory), home.env["PATH"]]))

    def wait_begun(self) -> None:
        wait_until(self._here.exists)

    def go_on(self) -> None:
        self._go.touch()

    def come_up(self) -> None:
        """Let the sandbox come up, and wait until the agent could begin."""
        self.go_on()
        wait_until(lambda: self.has_agent() or any(map(_listens, processes(self.home.root))))

    def has_agent(self) -> bool:
        return any(self._claude in command_line(one)[:1] for one in processes(self.home.root))

    def is_stopped(self) -> bool:
        return any(map(_is_stopped, processes(self.home.root)))


def _is_stopped(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_STOPPED
    except psutil.Error:
        return False


def _listens(process: psutil.Process) -> bool:
    """Tell whether it is the prelude, which waits for homeroom's word."""
    try:
        return os.readlink(f"/proc/{process.pid}/fd/8").endswith("/told")
    except OSError:
        return False
