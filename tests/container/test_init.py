"""The first process of a container, which hands on what it is handed; no engine is needed."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from homeroom.session import container_init


class Supervisor:
    """The other end of the socket."""

    def __init__(self, listening: socket.socket, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        listening.settimeout(20)
        self.channel = listening.accept()[0]
        self.channel.settimeout(20)

    def hand_over(self, *streams: int, umask: str = "18") -> None:
        socket.send_fds(self.channel, [umask.encode()], streams)

    def told(self) -> bytes:
        found: bytes = self.channel.recv(16)
        return found


@contextmanager
def first_process(place: Path, *command: str) -> Iterator[Supervisor]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(str(place / "socket"))
        listening.listen(1)
        argv = [sys.executable, "-I", "-S", container_init.__file__, str(place / "socket")]
        with subprocess.Popen([*argv, *command], stderr=subprocess.PIPE) as process:
            found = Supervisor(listening, process)
            try:
                yield found
            finally:
                found.channel.close()
                process.kill()


def test_the_command_has_the_streams_that_were_handed_over(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("in", "out", "err")]
    paths[0].write_text("said\n")
    script = "cat; echo wrong >&2; umask; ls -l /proc/self/fd | grep -c socket"
    with first_process(tmp_path, "sh", "-c", script) as supervisor:
        files = [path.open("r+" if path.name == "in" else "w+") for path in paths]
        supervisor.hand_over(*(each.fileno() for each in files), umask="63")
        assert supervisor.told() == b"1"
        assert paths[1].read_text() == "said\n0077\n0\n"
        assert paths[2].read_text() == "wrong\n"
        for each in files:
            each.close()


@pytest.mark.parametrize(
    ("script", "told"), [("exit 0", b"0"), ("exit 7", b"7"), ("kill -KILL $$", b"-9")]
)
def test_it_tells_how_the_command_ended_and_ends_when_that_was_heard(
    tmp_path: Path, script: str, told: bytes
) -> None:
    with first_process(tmp_path, "sh", "-c", script) as supervisor:
        supervisor.hand_over(*_nothing())
        assert supervisor.told() == told
        assert supervisor.process.poll() is None
        supervisor.channel.close()
        status = int(told)
        assert supervisor.process.wait(20) == (status if status >= 0 else 128 - status)


@pytest.mark.parametrize(("status", "told"), [(5, b"5"), (0, b"-15")])
def test_a_request_to_end_is_handed_on_and_is_no_success(
    tmp_path: Path, status: int, told: bytes
) -> None:
    script = f'trap "exit {status}" TERM; echo ready; while :; do sleep 0.1; done'
    with first_process(tmp_path, "sh", "-c", script) as supervisor:
        reading, writing = os.pipe()
        supervisor.hand_over(_nothing()[0], writing, writing)
        os.close(writing)
        assert os.read(reading, 16) == b"ready\n"
        supervisor.process.send_signal(signal.SIGTERM)
        assert supervisor.told() == told
        assert os.read(reading, 16) == b""
        os.close(reading)


def test_a_broken_pipe_ends_the_command_as_it_does_elsewhere(tmp_path: Path) -> None:
    with first_process(tmp_path, "sh", "-c", "kill -PIPE $$; exit 0") as supervisor:
        supervisor.hand_over(*_nothing())
        assert supervisor.told() == f"-{int(signal.SIGPIPE)}".encode()


def test_without_its_supervisor_it_starts_nothing(tmp_path: Path) -> None:
    with first_process(tmp_path, "touch", str(tmp_path / "made")) as supervisor:
        supervisor.channel.close()
        assert supervisor.process.wait(20) == 127
        assert not (tmp_path / "made").exists()


def test_a_command_that_is_not_there_is_named(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with first_process(tmp_path, "/no/such/program") as supervisor:
        supervisor.hand_over(_nothing()[0], writing, writing)
        os.close(writing)
        assert supervisor.told() == b"127"
    assert os.read(reading, 256) == b"/no/such/program: No such file or directory\n"
    os.close(reading)


_OPENED: list[int] = []


def _nothing() -> list[int]:
    if not _OPENED:
        _OPENED.append(os.open(os.devnull, os.O_RDWR))
    return _OPENED * 3
