"""What the tests of sweep share."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from homeroom import home
from homeroom.home import Instance, instance_of, materialize, new_run_id
from homeroom.paths import Paths
from homeroom.run import lock, record
from homeroom.run.lock import RunLock
from homeroom.run.record import Record
from homeroom.run.sweep import YOUNGEST, sweep

OLD = YOUNGEST + 60


def lock_file(paths: Paths, run_id: str) -> Path:
    return paths.runs / f"{run_id}.lock"


def record_file(paths: Paths, run_id: str) -> Path:
    return paths.runs / f"{run_id}.json"


def shift(paths: Paths, run_id: str, seconds: float) -> None:
    """Make a run's files as old as if so much time had passed (or the clock been set back)."""
    instance = instance_of(paths, run_id)
    for path in (lock_file(paths, run_id), record_file(paths, run_id), instance.root):
        if os.path.lexists(path):
            at = os.lstat(path).st_mtime - seconds
            os.utime(path, (at, at), follow_symlinks=False)


def begin(paths: Paths, run_id: str | None = None) -> tuple[Instance, RunLock]:
    """Do what a launch does first: lock, record, room."""
    instance = instance_of(paths, run_id or new_run_id())
    for directory in (paths.state, paths.runs):
        directory.mkdir(parents=True, mode=0o700, exist_ok=True)
    taken = lock.try_acquire(lock_file(paths, instance.run_id))
    assert taken is not None
    allocated = Record(
        run_id=instance.run_id,
        provider="agent",
        workspace="/some/where",
        state="allocated",
        created=time.time(),
        supervisor=os.getpid(),
    )
    record.save(record_file(paths, instance.run_id), allocated)
    materialize(instance)
    return instance, taken


def crashed(paths: Paths, age: float = OLD) -> Instance:
    """Leave what a killed supervisor leaves, some time ago."""
    instance, taken = begin(paths)
    taken.abandon()
    shift(paths, instance.run_id, age)
    return instance


def state_of(paths: Paths, run_id: str) -> str:
    return record.read(record_file(paths, run_id)).state


def verdicts(paths: Paths, **options: Any) -> dict[str, str]:
    return {entry.name: entry.verdict for entry in sweep(paths, **options).entries}


def unmarked(path: Path, _outside: Path) -> None:
    (path / "precious").mkdir(parents=True)


def of_another(path: Path, _outside: Path) -> None:
    path.mkdir()
    (path / home.MARK).write_text("run_" + "0" * 32 + "\n")


FOREIGN: dict[str, Callable[[Path, Path], object]] = {
    "a tree without a mark": unmarked,
    "a tree with another's mark": of_another,
    "a file": lambda path, _: path.write_bytes(b"mine"),
    "a symlink to a tree": lambda path, outside: path.symlink_to(outside),
    "a dangling symlink": lambda path, _: path.symlink_to("nowhere"),
    "a FIFO": lambda path, _: os.mkfifo(path),
}
