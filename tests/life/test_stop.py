"""Ending runs that do not end by themselves: the ladder, with a stand-in for the supervisor."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from homeroom import home, stop
from homeroom.errors import UsageError
from homeroom.files import ensure_private_dir
from homeroom.paths import Paths, locate
from homeroom.process import identity
from homeroom.run import find, lock, record, sweep
from homeroom.run.record import Record
from tests.conftest import PrivateHome

# Holds the lock of a run; "deaf" to a request, or not.
HOLDER = """
import signal, sys, time
from pathlib import Path
from homeroom.run import lock
held = lock.try_acquire(Path(sys.argv[1]))
if sys.argv[2] == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("held", flush=True)
time.sleep(100)
"""


@pytest.fixture
def paths(private_home: PrivateHome) -> Paths:
    found = locate(private_home.env)
    ensure_private_dir(found.state)
    ensure_private_dir(found.runs)
    return found


@contextmanager
def holder(path: Path, how: str) -> "Iterator[subprocess.Popen[str]]":
    argv = [sys.executable, "-c", HOLDER, str(path), how]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def made(paths: Paths, supervisor: int, known: str | None) -> find.Found:
    run_id = home.new_run_id()
    of = Record(
        run_id=run_id,
        provider="claude",
        workspace="/",
        state="running",
        created=time.time(),
        supervisor=supervisor,
        supervisor_identity=known,
    )
    record.save(paths.runs / f"{run_id}.json", of)
    return find.Found(of, is_alive=True)


def cleaner(paths: Paths) -> Callable[[str], sweep.Report]:
    return lambda run_id: sweep.sweep(paths, youngest=0.0, only=run_id)


@pytest.mark.parametrize(("how", "expected"), [("deaf", "forced"), ("willing", "forced")])
def test_one_that_does_not_end_is_killed_and_swept(
    paths: Paths, monkeypatch: pytest.MonkeyPatch, how: str, expected: str
) -> None:
    """And one that ends without closing its record is swept as well."""
    monkeypatch.setattr(stop, "_SUPERVISOR_SLACK", 0.3)
    path = paths.runs / "some.lock"
    with holder(path, how) as process:
        run = made(paths, process.pid, identity(process.pid))
        own = find.lock_file(paths, run.record.run_id)
        path.rename(own)
        [result] = stop.stop(paths, [run], grace=0.0, clean=cleaner(paths))
        assert (result.how, result.note) == (expected, None)
        expected_signal = signal.SIGKILL if how == "deaf" else signal.SIGTERM
        assert process.wait(10) == -expected_signal
    assert record.read(paths.runs / f"{run.record.run_id}.json").state == "crashed"
    assert not own.exists()


@pytest.mark.parametrize("known", [None, "another boot:1"])
def test_another_process_with_its_number_is_left_alone(paths: Paths, known: str | None) -> None:
    """Whoever holds the lock is meant, and asked."""
    path = paths.runs / "some.lock"
    with (
        holder(path, "willing") as supervisor,
        subprocess.Popen(["sleep", "100"]) as bystander,
    ):
        run = made(paths, bystander.pid, known)
        path.rename(find.lock_file(paths, run.record.run_id))
        [result] = stop.stop(paths, [run], grace=0.0, clean=cleaner(paths))
        assert (result.how, result.note) == ("forced", None)
        assert supervisor.wait(10) == -signal.SIGTERM
        assert bystander.poll() is None
        bystander.kill()


def test_one_that_nobody_can_find_is_said_to_be_alive(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stop, "_SUPERVISOR_SLACK", 0.1)
    monkeypatch.setattr(stop, "_DEATH_LIMIT", 0.1)
    monkeypatch.setattr(lock, "holder", lambda _: None)
    path = paths.runs / "some.lock"
    with holder(path, "willing") as process:
        run = made(paths, process.pid, "another boot:1")
        path.rename(find.lock_file(paths, run.record.run_id))
        [result] = stop.stop(paths, [run], grace=0.0, clean=cleaner(paths))
        assert (result.how, result.note) == ("failed", "it is alive")
        assert process.poll() is None


def test_a_dead_run_that_another_one_cleans_at_this_moment_is_waited_for(paths: Paths) -> None:
    """What holds the lock then is no supervisor, and the run is not alive."""
    run = find.Found(made(paths, 1, None).record, is_alive=False)
    path = paths.runs / "some.lock"
    with holder(path, "willing") as process:
        path.rename(find.lock_file(paths, run.record.run_id))
        threading.Timer(0.5, process.kill).start()
        [result] = stop.stop(paths, [run], grace=0.0, clean=cleaner(paths))
    assert (result.how, result.note) == ("was over", None)
    assert record.read(paths.runs / f"{run.record.run_id}.json").state == "crashed"


def test_a_record_that_went_meanwhile_is_no_failure(paths: Paths) -> None:
    run = made(paths, 1, None)
    (paths.runs / f"{run.record.run_id}.json").unlink()
    [result] = stop.stop(paths, [run], grace=0.0, clean=cleaner(paths))
    assert result.how == "forced"


def test_a_name_that_a_living_run_has_is_refused(paths: Paths) -> None:
    path = paths.runs / "some.lock"
    with holder(path, "willing") as process:
        run = made(paths, process.pid, None)
        named = msgspec.structs.replace(run.record, name="twin")
        record.save(paths.runs / f"{named.run_id}.json", named)
        path.rename(find.lock_file(paths, named.run_id))
        with pytest.raises(UsageError, match="a live run is called 'twin' already"):
            find.refuse_taken(paths, "twin")
        find.refuse_taken(paths, "twin", named.run_id)
        find.refuse_taken(paths, "other")
    # The holder is gone, and its lock with it.
    find.refuse_taken(paths, "twin")
    for name in ("", " x", "a\nb", "\x1b[31m"):
        with pytest.raises(UsageError, match="not a name"):
            find.refuse_taken(paths, name)
