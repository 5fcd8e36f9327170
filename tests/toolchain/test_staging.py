"""Staging: one at a time, gone when it fails, and never what looks whole after a kill."""

import fcntl
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from homeroom.errors import StateError, StorageError
from homeroom.toolchain import staging as module
from homeroom.toolchain.staging import (
    STAGING_MARK,
    exclusive,
    publish,
    remove_leftovers,
    staging,
)
from homeroom.toolchain.store import MARK

MARKED = b"{}"


def never() -> None:
    pytest.fail("there is nobody to wait for")


def test_a_stage_is_private_and_marked(tmp_path: Path) -> None:
    with staging(tmp_path) as stage:
        assert stage.stat().st_mode & 0o777 == 0o700
        assert (stage / STAGING_MARK).stat().st_mode & 0o777 == 0o600
        publish(stage, tmp_path / "final", MARKED)
    assert [entry.name for entry in tmp_path.iterdir()] == ["final"]
    assert [entry.name for entry in (tmp_path / "final").iterdir()] == [MARK]
    assert (tmp_path / "final" / MARK).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failure_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    def fail(stage: Path) -> None:
        (stage / "deep").mkdir(mode=0o500)
        raise error

    with pytest.raises(error), staging(tmp_path) as stage:
        fail(stage)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_removal_does_not_hide_the_first_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_tree: Path) -> None:
        raise StorageError("the disk is gone")

    monkeypatch.setattr(module, "remove_trees", fail)
    with pytest.raises(ValueError, match="first") as told, staging(tmp_path):
        raise ValueError("first")
    assert "the disk is gone" in told.value.__notes__[0]


@pytest.mark.parametrize("kind", ["tree", "file", "symlink"])
def test_what_had_the_name_is_replaced(tmp_path: Path, kind: str) -> None:
    final, other = tmp_path / "final", tmp_path / "other"
    other.mkdir()
    (other / "kept").touch()
    if kind == "tree":
        (final / "old" / "deep").mkdir(parents=True)
    elif kind == "file":
        final.touch()
    else:
        final.symlink_to(other)
    with staging(tmp_path) as stage:
        publish(stage, final, MARKED)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["final", "other"]
    assert [entry.name for entry in final.iterdir()] == [MARK]
    assert (other / "kept").exists()


KILLED = """
import os, signal, sys
from pathlib import Path
from homeroom.toolchain import staging as module

directory, moment = Path(sys.argv[1]), sys.argv[2]

def die(*args, **options):
    os.kill(os.getpid(), signal.SIGKILL)

if moment == "marking":
    module.create_private = die
elif moment == "renaming":
    module.os.rename = die
elif moment == "renamed":
    real = os.rename
    module.os.rename = lambda *args: (real(*args), die())
with module.staging(directory) as stage:
    (stage / "tool").touch()
    if moment == "working":
        die()
    if moment == "writing the mark":
        module.create_private = die
    module.publish(stage, directory / "final", b"{}")
"""


@pytest.mark.parametrize(
    ("moment", "whole"),
    [
        ("marking", False),
        ("working", False),
        ("writing the mark", False),
        ("renaming", False),
        ("renamed", True),
    ],
)
def test_a_kill_leaves_a_whole_tree_or_none(tmp_path: Path, moment: str, whole: bool) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, tmp_path, moment], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (tmp_path / "final").exists() == whole
    assert (tmp_path / "final" / MARK).exists() == whole
    remove_leftovers(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["final"] * whole


def test_a_kill_while_replacing_leaves_what_the_next_one_removes(tmp_path: Path) -> None:
    (tmp_path / "final").mkdir()
    (tmp_path / "final" / "damaged").touch()
    killed = subprocess.run([sys.executable, "-c", KILLED, tmp_path, "renamed"], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "final").exists()
    remove_leftovers(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_only_leftovers_of_ours_are_removed(tmp_path: Path) -> None:
    ours = tmp_path / ".staging-0123456789ab"
    ours.mkdir()
    (ours / STAGING_MARK).touch()
    (ours / "deep").mkdir(mode=0o500)
    (tmp_path / ".staging-00000000000e").mkdir()
    target = tmp_path / "target"
    target.mkdir()
    (target / STAGING_MARK).touch()
    kept = {"target", ".staging-unmarked", ".staging-aaaaaaaaaaaa", ".staging-bbbbbbbbbbbb"}
    (tmp_path / ".staging-unmarked").mkdir()
    (tmp_path / ".staging-aaaaaaaaaaaa").mkdir()
    (tmp_path / ".staging-aaaaaaaaaaaa" / "someone's").touch()
    (tmp_path / ".staging-bbbbbbbbbbbb").symlink_to(target)
    remove_leftovers(tmp_path)
    assert {entry.name for entry in tmp_path.iterdir()} == kept
    assert (target / STAGING_MARK).exists()


def test_the_lock_is_private_and_free_afterwards(tmp_path: Path) -> None:
    for _ in range(2):
        with exclusive(tmp_path, never):
            (lock,) = tmp_path.iterdir()
            assert lock.stat().st_mode & 0o777 == 0o600


def test_another_one_is_waited_for(tmp_path: Path) -> None:
    order: list[str] = []
    waiting = threading.Event()

    def wait() -> None:
        order.append("waits")
        waiting.set()

    def second() -> None:
        with exclusive(tmp_path, wait):
            order.append("second")

    thread = threading.Thread(target=second)
    with exclusive(tmp_path, never):
        thread.start()
        assert waiting.wait(10)
        order.append("first")
    thread.join(10)
    assert order == ["waits", "first", "second"]


def test_a_child_that_outlives_its_setup_keeps_the_lock(tmp_path: Path) -> None:
    with exclusive(tmp_path, never) as lock:
        child = subprocess.Popen(["sleep", "60"], pass_fds=(lock,))
    (path,) = tmp_path.iterdir()
    try:
        with path.open() as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        child.kill()
        child.wait()
    with exclusive(tmp_path, never):
        pass


def test_a_lock_that_is_a_symlink_is_refused(tmp_path: Path) -> None:
    (tmp_path / "victim").touch()
    (tmp_path / ".setup.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(StorageError, match="lock"), exclusive(tmp_path, never):
        pass


@pytest.mark.parametrize(
    "enter", [lambda path: exclusive(path, never), staging], ids=["lock", "stage"]
)
def test_a_directory_that_cannot_be_written_is_told(read_only: Path, enter: Any) -> None:
    with pytest.raises(StateError, match=str(read_only)) as told, enter(read_only):
        pass
    assert "HOMEROOM_HOME" in (told.value.hint or "")
    assert os.listdir(read_only) == []
