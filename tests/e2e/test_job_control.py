"""Ctrl-C and Ctrl-Z at moments when homeroom waits for a program of its own."""

import os
import re
import shlex
import sys
import time
from pathlib import Path

from tests.e2e.runner import wait_until
from tests.e2e.session import SHELL_PROMPT, Session
from tests.support.runs import Journal

_FILES = 60_000
_REMOVES = """
import sys, time
from pathlib import Path
from homeroom import trash
from homeroom.session.signals import Signals
tree = Path(sys.argv[1])
with Signals() as signals:
    signals.watch_stop()
    print("now", flush=True)
    trash.remove_trees(tree)
    deadline = time.monotonic() + 20
    while len(signals.pending) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    print("left:", tree.exists(), "signals:", len(signals.pending), flush=True)
"""
_STARTS_PROGRAMS = """
import subprocess
from homeroom.cli import main
main.main(["completion", "bash"])
print("now", flush=True)
while True:
    subprocess.run(["true"], stdin=subprocess.DEVNULL)
"""
# Waits for a file and tells whether the terminal is still as it set it.
_SETS_THE_TERMINAL = """
import os, sys, termios, time, tty
before = termios.tcgetattr(0)
tty.setcbreak(0)
print("set", flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
print("kept:", not termios.tcgetattr(0)[3] & termios.ICANON, flush=True)
termios.tcsetattr(0, termios.TCSANOW, before)
"""


def _enter(session: Session, program: str, at: Path, *arguments: Path, behind: str = "") -> None:
    """Write a program into a file and type its start into the shell."""
    at.write_text(program)
    session.enter(f"clear; {shlex.join([sys.executable, str(at), *map(str, arguments)])}{behind}")


def test_neither_ctrl_c_nor_ctrl_z_hinders_a_wipe(session: Session, tmp_path: Path) -> None:
    """The terminal sends both to all of the job, and to what removes the room as well."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(_FILES):
        os.close(os.open(tree / str(number), os.O_CREAT, 0o600))
    session.start_shell()
    _enter(session, _REMOVES, tmp_path / "removes.py", tree)
    session.terminal.wait_for(re.compile("^now$", re.MULTILINE))
    session.terminal.send("C-z")
    session.terminal.send("C-c")
    session.terminal.wait_for("left: False signals: 2")
    session.end_shell()


def test_ctrl_z_while_a_program_is_being_started_gives_the_shell_its_terminal(
    session: Session, tmp_path: Path
) -> None:
    """A child that is stopped before it is the program must not keep its parent from stopping."""
    session.start_shell()
    _enter(session, _STARTS_PROGRAMS, tmp_path / "starts.py", behind=" >/dev/null")
    for _ in range(12):
        time.sleep(0.1)
        session.terminal.send("C-z")
        session.terminal.wait_for(SHELL_PROMPT)
        session.enter("clear; fg >/dev/null")
    time.sleep(0.1)
    session.terminal.send("C-c")
    session.terminal.wait_for(SHELL_PROMPT)
    session.end_shell()


def test_a_terminal_that_another_job_has_is_left_as_that_set_it(
    session: Session, journal: Journal, tmp_path: Path
) -> None:
    session.start_shell()
    session.type_start(journal.url)
    session.ask()
    session.suspend()
    sign = tmp_path / "sign"
    _enter(session, _SETS_THE_TERMINAL, tmp_path / "sets.py", sign)
    session.terminal.wait_for(re.compile("^set$", re.MULTILINE))
    session.stop_all()
    wait_until(lambda: not list((session.home.root / "state" / "instances").glob("run_*")))
    sign.touch()
    session.terminal.wait_for("kept: True")
    session.end_shell()
