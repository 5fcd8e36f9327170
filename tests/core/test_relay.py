"""What an agent gets in place of a terminal that it may write to and must not read."""

import errno
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from homeroom.errors import ToolError
from homeroom.session.relay import Relay
from tests.support.terminal import Terminal

# Runs a program as a run's process is started, and says so when all is over.
_RUNS = """
import signal, subprocess, sys
from homeroom.session.relay import Relay
signal.signal(signal.SIGHUP, signal.SIG_IGN)
relay = Relay()
signal.signal(signal.SIGWINCH, lambda number, frame: relay.resize())
with relay.in_place():
    child = subprocess.Popen([sys.executable, "-c", sys.argv[1], *sys.argv[2:]])
status = child.wait()
relay.finish(lambda: False)
print("status:", status, flush=True)
"""
# Reads wherever it can: what it was given, and the same opened anew.
_READS = """
import os, select
own = [0, 1, 2]
for number in (0, 1, 2):
    own.append(os.open(f"/proc/self/fd/{number}", os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK))
print("begun", flush=True)
readable, _, _ = select.select(own, [], [], 1.5)
print("read:", b"".join(os.read(each, 99) for each in readable), flush=True)
"""
_TELLS = """
import os, sys, time
print("terminals:", *map(os.isatty, (0, 1, 2)))
while True:
    print("size:", *os.get_terminal_size(2), flush=True)
    time.sleep(0.1)
"""
_MIXES = """
import os
for number in range(4000):
    os.write(1 + number % 2, b"%d\\n" % number)
"""
_WARNS = 'import os; os.write(1, b"out\\n"); os.write(2, b"err\\n")'
_GOES_ON = """
import pathlib, sys, time
place = pathlib.Path(sys.argv[1])
print("begun", flush=True)
while not (place / "gone").exists():
    time.sleep(0.01)
for _ in range(1000):
    print("x" * 1000, flush=True)
(place / "over").touch()
"""


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    with Terminal() as found:
        yield found


def _start(terminal: Terminal, cwd: Path, program: str, *arguments: str, more: str = "") -> None:
    argv = shlex.join([sys.executable, "-c", _RUNS, program, *arguments])
    terminal.start(["sh", "-c", f"{argv} {more}"], env=os.environ, cwd=cwd)


def test_what_is_typed_at_the_terminal_cannot_be_read(terminal: Terminal, tmp_path: Path) -> None:
    _start(terminal, tmp_path, _READS)
    terminal.wait_for("begun")
    terminal.write("pass word")
    terminal.send("Enter")
    terminal.wait_for("read: b''")
    terminal.wait_for("status: 0")


def test_what_writes_to_it_sees_a_terminal_of_the_same_size(
    terminal: Terminal, tmp_path: Path
) -> None:
    _start(terminal, tmp_path, _TELLS)
    terminal.wait_for("terminals: False True True")
    terminal.wait_for("size: 100 30")
    terminal.resize(64, 20)
    terminal.wait_for("size: 64 20")


def test_all_is_shown_before_the_end_and_in_its_order(terminal: Terminal, tmp_path: Path) -> None:
    _start(terminal, tmp_path, _MIXES)
    shown = terminal.wait_for("status: 0").split("status: 0")[0].split()
    assert shown == [str(number) for number in range(4000 - len(shown), 4000)]
    assert len(shown) > 20


def test_what_goes_to_a_file_goes_there_and_the_rest_is_shown(
    terminal: Terminal, tmp_path: Path
) -> None:
    _start(terminal, tmp_path, _WARNS, more=">file; echo over")
    assert terminal.wait_for("over").split() == ["err", "over"]
    assert (tmp_path / "file").read_text() == "out\nstatus: 0\n"


def test_an_agent_goes_on_when_the_terminal_has_gone(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    argv = [sys.executable, "-c", _RUNS, _GOES_ON, str(tmp_path)]
    with subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs) as started:
        os.close(theirs)
        said = b""
        # The terminal hands a line and its end on one after the other.
        while not said.endswith(b"\n"):
            said += os.read(ours, 99)
        os.close(ours)
        (tmp_path / "gone").touch()
        started.wait(timeout=20)
    assert (tmp_path / "over").exists()


def test_what_fails_meanwhile_leaves_the_streams_and_no_descriptor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = sorted(os.listdir("/proc/self/fd"))
    streams = [os.fstat(number) for number in (0, 1, 2)]
    monkeypatch.setattr(os, "isatty", lambda _: True)
    monkeypatch.setattr("termios.tcgetwinsize", lambda _: (24, 80))
    with pytest.raises(ZeroDivisionError), Relay().in_place():
        raise ZeroDivisionError
    assert [os.fstat(number) for number in (0, 1, 2)] == streams
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_where_no_terminal_can_be_made_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "isatty", lambda _: True)
    monkeypatch.setattr(os, "openpty", refuse)
    with pytest.raises(ToolError, match="cannot make a terminal"), Relay().in_place():
        pass
