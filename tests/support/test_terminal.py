"""The terminal that tests drive TUIs with does what it says."""

import os
import re
import sys
from pathlib import Path

import psutil
import pytest

from tests.support.terminal import Terminal

PROGRAM = r"""
import os, signal, sys, tty
def show(*_):
    size = os.get_terminal_size()
    print(f"size {size.columns}x{size.lines}", end="\r\n", flush=True)
signal.signal(signal.SIGWINCH, show)
tty.setraw(0)
print("argument", sys.argv[1], "variables", sorted(os.environ), end="\r\n")
show()
while (key := os.read(0, 100)) != b"q":
    print("read", key, end="\r\n", flush=True)
sys.exit(int(sys.argv[2]))
"""


def test_a_program_is_driven_and_its_status_read(tmp_path: Path) -> None:
    with Terminal() as terminal:
        terminal.start(
            [sys.executable, "-c", PROGRAM, "it's $HOME", "7"],
            env={"ONLY": "this"},
            cwd=tmp_path,
            size=(90, 20),
        )
        terminal.wait_for("size 90x20")
        assert "argument it's $HOME" in terminal.screen()
        terminal.resize(110, 25)
        terminal.wait_for("size 110x25")
        terminal.send("C-c")
        terminal.wait_for(re.compile(r"read b'\\x03'"))
        terminal.write("Enter")
        terminal.wait_for("read b'Enter'")
        terminal.write("q")
        assert terminal.wait_exit() == 7


def test_the_environment_is_the_one_given(tmp_path: Path) -> None:
    with Terminal() as terminal:
        terminal.start(["/usr/bin/env"], env={"ONLY": "this"}, cwd=tmp_path)
        terminal.wait_for("TERM=")
        assert sorted(terminal.screen().split()) == ["ONLY=this", "TERM=tmux-256color"]


def test_a_program_has_the_foreground_but_not_the_session(tmp_path: Path) -> None:
    with Terminal() as terminal:
        terminal.start(["cat"], env={"PATH": "/usr/bin:/bin"}, cwd=tmp_path)
        program = psutil.Process(terminal.pid())
        assert os.getpgid(program.pid) == program.pid != os.getsid(program.pid)
        terminal.send("C-d")
        assert terminal.wait_exit() == 0


def test_a_signal_is_told_from_a_status(tmp_path: Path) -> None:
    with Terminal() as terminal:
        terminal.start(["sh", "-c", "kill -TERM $$"], env={"PATH": "/usr/bin:/bin"}, cwd=tmp_path)
        assert terminal.wait_exit() == 128 + 15


def test_what_never_shows_fails_with_the_screen(tmp_path: Path) -> None:
    with Terminal() as terminal:
        terminal.start(
            ["sh", "-c", "echo ready; sleep 60"], env={"PATH": "/usr/bin:/bin"}, cwd=tmp_path
        )
        terminal.wait_for("ready")
        with pytest.raises(AssertionError, match="ready"):
            terminal.wait_for("never", timeout=0.2)
        with pytest.raises(AssertionError, match="still running"):
            terminal.wait_exit(timeout=0.2)


@pytest.mark.parametrize("ignored", ["", "trap '' HUP; "])
def test_nothing_runs_after_the_block(tmp_path: Path, ignored: str) -> None:
    terminal = Terminal()
    try:
        script = f"{ignored}echo ready; while :; do sleep 0.1; done"
        terminal.start(["sh", "-c", script], env={"PATH": "/usr/bin:/bin"}, cwd=tmp_path)
        program = psutil.Process(terminal.pid())
        terminal.wait_for("ready")
        assert program.is_running()
    finally:
        terminal.close(patience=0.5)
    program.wait(timeout=10)
    terminal.close()


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with Terminal() as terminal:
        terminal.start(["/no-such-program"], env={}, cwd=tmp_path)
        assert terminal.wait_exit() == 127
        terminal.wait_for("/no-such-program: No such file")
