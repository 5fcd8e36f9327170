"""A run is alive while its lock is held, and no two hold one."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from homeroom.errors import HomeroomError, StateError
from homeroom.run.lock import age, holder, is_held, try_acquire
from tests.support.tree import snapshot

_HOLDER = """
import sys
from pathlib import Path
from homeroom.run.lock import try_acquire
held = try_acquire(Path(sys.argv[1]))
print("held" if held else "busy", flush=True)
sys.stdin.read()
if held and sys.argv[2:] == ["release"]:
    held.release()
"""

# Each takes the lock as often as it can for a while and, holding it, makes a file that
# nobody else may have made: whoever else held the lock at that moment would be seen.
_RACER = """
import os, sys, time
from pathlib import Path
from homeroom.run.lock import try_acquire
lock, witness = Path(sys.argv[1]), Path(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
taken = busy = 0
end = time.monotonic() + float(sys.argv[3])
while time.monotonic() < end:
    held = try_acquire(lock)
    if held is None:
        busy += 1
        continue
    os.close(os.open(witness, os.O_CREAT | os.O_EXCL))
    os.unlink(witness)
    taken += 1
    if taken % 4:
        held.release()
    else:
        held.abandon()
print(taken, busy)
"""


def start_holder(path: Path, *how: str) -> "subprocess.Popen[str]":
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(path), *how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def end(holder: "subprocess.Popen[str]") -> None:
    holder.communicate(timeout=20)


def test_what_another_process_holds_cannot_be_taken(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    holder = start_holder(path)
    assert is_held(path)
    assert try_acquire(path) is None
    assert try_acquire(path, create=False) is None
    end(holder)
    assert not is_held(path)
    taken = try_acquire(path)
    assert taken is not None
    assert is_held(path)
    taken.release()


def test_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    holder = start_holder(path)
    holder.send_signal(signal.SIGKILL)
    end(holder)
    assert path.exists()
    assert not is_held(path)
    with try_acquire(path) or pytest.fail("it is still held"):
        assert is_held(path)


def test_a_child_that_outlives_its_holder_does_not_hold_it_on(tmp_path: Path) -> None:
    taken = try_acquire(tmp_path / "lock")
    assert taken is not None
    child = subprocess.Popen(["sleep", "30"], close_fds=False)
    try:
        taken.abandon()
        assert not is_held(tmp_path / "lock")
    finally:
        child.kill()
        child.wait()


def test_a_released_lock_leaves_no_file(tmp_path: Path) -> None:
    holder = start_holder(tmp_path / "lock", "release")
    end(holder)
    assert os.listdir(tmp_path) == []


def test_an_abandoned_lock_leaves_its_file_and_is_free(tmp_path: Path) -> None:
    taken = try_acquire(tmp_path / "lock")
    assert taken is not None
    taken.abandon()
    assert os.listdir(tmp_path) == ["lock"]
    assert not is_held(tmp_path / "lock")


def test_letting_go_twice_does_not_touch_the_next_holders_lock(tmp_path: Path) -> None:
    first = try_acquire(tmp_path / "lock")
    assert first is not None
    first.release()
    second = try_acquire(tmp_path / "lock")
    assert second is not None
    first.release()
    first.abandon()
    assert is_held(tmp_path / "lock")
    second.release()


def test_a_lock_whose_file_was_removed_and_made_again_is_taken_anew(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    old = try_acquire(path)
    assert old is not None
    path.unlink()
    new = try_acquire(path)
    assert new is not None
    assert os.path.samestat(os.fstat(new.descriptor), os.lstat(path))
    assert try_acquire(path) is None
    old.abandon()
    assert is_held(path)
    new.release()


def test_the_file_is_private(tmp_path: Path, open_umask: None) -> None:
    del open_umask
    with try_acquire(tmp_path / "lock") or pytest.fail("nobody holds it"):
        assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600


def test_without_leave_to_make_it_no_file_is_made(tmp_path: Path) -> None:
    assert try_acquire(tmp_path / "lock", create=False) is None
    assert not is_held(tmp_path / "lock")
    assert os.listdir(tmp_path) == []


def test_a_symlink_is_refused_and_its_target_untouched(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"mine")
    (tmp_path / "lock").symlink_to("target")
    before = snapshot(tmp_path)
    with pytest.raises(StateError, match="is a symlink"):
        try_acquire(tmp_path / "lock")
    assert not is_held(tmp_path / "lock")
    assert snapshot(tmp_path) == before


def test_a_lock_that_cannot_be_opened_is_not_called_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, *_: object) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    (tmp_path / "lock").touch()
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(StateError, match=r"cannot look at the lock .*Permission denied"):
        is_held(tmp_path / "lock")


def test_one_that_looks_is_not_taken_for_a_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    with open(path, "rb") as another:
        fcntl.flock(another, fcntl.LOCK_SH)
        assert not is_held(path)


def test_who_holds_it_is_told_where_the_kernel_tells(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert holder(path) is None
    held = try_acquire(path)
    assert held
    assert holder(path) == (os.getpid() if sys.platform == "linux" else None)
    held.abandon()
    assert holder(path) is None


def test_a_place_where_no_lock_can_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "missing" / "lock", tmp_path / "file" / "lock", tmp_path):
        with pytest.raises(HomeroomError) as told:
            try_acquire(path)
        assert str(path) in told.value.message


def test_two_that_race_never_hold_it_both(tmp_path: Path) -> None:
    """Whoever lets go removes the file, so that the other may lock one without a name."""
    arguments = [str(tmp_path / "lock"), str(tmp_path / "witness"), "1.0"]
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", _RACER, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    taken = busy = 0
    for racer in racers:
        out, err = racer.communicate(timeout=60)
        assert err == ""
        taken, busy = taken + int(out.split()[0]), busy + int(out.split()[1])
    assert taken >= 200
    assert busy > 0, "they never met, so that nothing was shown"


def test_a_file_is_as_old_as_its_last_change(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert age(path) == float("inf")
    path.touch()
    assert 0 <= age(path) + 0.1 < 30
    os.utime(path, (time.time(), time.time() - 1000))
    assert 1000 <= age(path) < 1030
    # The clock was set back after it was made: it must not be young for ever.
    os.utime(path, (time.time(), time.time() + 1000))
    assert age(path) == float("inf")
