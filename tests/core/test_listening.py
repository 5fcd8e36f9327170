"""What an agent may say to the supervisor, and what that makes of it."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from homeroom.home import instance_of, new_run_id
from homeroom.paths import Paths
from homeroom.session.control import Control
from homeroom.session.foreground import Foreground
from homeroom.session.signals import Signals


@pytest.fixture
def control(tmp_path: Path) -> Iterator[Control]:
    for name in ("said", "told"):
        os.mkfifo(tmp_path / name, 0o600)
    opened = Control(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def signals() -> Signals:
    return Signals()


@pytest.fixture
def stops(
    paths: Paths, signals: Signals, control: Control, monkeypatch: pytest.MonkeyPatch
) -> "Listener":
    return Listener(paths, signals, control, monkeypatch)


class Listener:
    """A supervisor that hears, and counts how often it stops."""

    def __init__(
        self, paths: Paths, signals: Signals, control: Control, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.count = 0
        self._control = control
        instance = instance_of(paths, new_run_id())
        self.session = Foreground(instance, signals, "job", 1.0)
        monkeypatch.setattr(self.session, "_suspend", self._note)

    def _note(self) -> None:
        self.count += 1

    def hear(self, text: str) -> None:
        path = f"/proc/self/fd/{self._control.fileno()}"
        descriptor = os.open(path, os.O_WRONLY)
        os.write(descriptor, text.encode())
        os.close(descriptor)
        self.session._listen(self._control)


def test_an_agent_that_says_again_and_again_that_it_stopped_stops_the_job_once(
    stops: Listener,
) -> None:
    stops.hear("started 7\n" + "stopped\n" * 8000)
    assert stops.count == 1


def test_an_agent_that_says_that_it_stopped_does_not_put_off_its_end(
    stops: Listener, signals: Signals
) -> None:
    stops.hear("started 7\n")
    signals.pending.append(signal.SIGTERM)
    stops.hear("stopped\n")
    assert stops.count == 0


@pytest.mark.parametrize("word", ["stopped", "started x", "started " + "9" * 5000, "started -1"])
def test_before_the_agent_has_started_such_words_do_nothing(stops: Listener, word: str) -> None:
    stops.hear(f"{word}\nstopped\n")
    assert stops.count == 0


def test_what_the_agent_left_to_be_told_is_taken_back(control: Control, tmp_path: Path) -> None:
    with (tmp_path / "told").open("w") as told:
        told.write("go\ngo\n")
    control.take_back()
    reader = os.open(tmp_path / "told", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(BlockingIOError):
        os.read(reader, 10)
    os.close(reader)
