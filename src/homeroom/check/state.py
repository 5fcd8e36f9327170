"""Probes of what homeroom keeps."""

import os
import stat
from pathlib import Path

from homeroom import home, launch, trash
from homeroom.check.model import Finding, Probe, Surroundings, fail, ok, skipped, warn
from homeroom.errors import StateError
from homeroom.run import lock, record, sweep

_SWEEP = "homeroom sweep"


def _permissions(around: Surroundings) -> Finding:
    paths = around.paths
    wrong: list[str] = []
    for path in (
        paths.state,
        paths.instances,
        paths.runs,
        paths.transcripts,
        paths.trash,
        paths.temp,
    ):
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            continue
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            return fail(f"{path} is not a directory of yours", "move it out of the way")
        if status.st_mode & 0o077:
            wrong.append(str(path))
    if wrong:
        return fail(f"open to other users: {', '.join(wrong)}", f"chmod 700 {' '.join(wrong)}")
    return ok("every directory is yours alone")


def _tighten(around: Surroundings) -> str:
    paths = around.paths
    done: list[str] = []
    for path in (
        paths.state,
        paths.instances,
        paths.runs,
        paths.transcripts,
        paths.trash,
        paths.temp,
    ):
        descriptor = _open_directory(path)
        if descriptor is None:
            continue
        try:
            if os.fstat(descriptor).st_mode & 0o077:
                os.fchmod(descriptor, 0o700)
                done.append(str(path))
        finally:
            os.close(descriptor)
    return f"made private: {', '.join(done)}"


def _open_directory(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None


def _orphans(around: Surroundings) -> Finding:
    report = sweep.sweep(around.paths, dry_run=True)
    dead = report.count("would remove")
    alive = sum(entry.reason == "it is alive" for entry in report.entries)
    if dead:
        return warn(f"{dead} leftovers of dead runs, {alive} runs alive", _SWEEP)
    return ok(f"no leftovers, {alive} runs alive")


def _sweep(around: Surroundings) -> str:
    report = launch.sweep_dead(around.paths)
    return f"removed {report.count('removed')}, failed on {report.count('failed')}"


def _locks(around: Surroundings) -> Finding:
    if not around.paths.runs.is_dir():
        return skipped("no run has been started yet")
    stale = [
        path.name
        for path in sorted(around.paths.runs.glob("run_*.lock"))
        if not lock.is_held(path) and lock.age(path) > sweep.YOUNGEST
    ]
    if stale:
        return warn(f"{len(stale)} locks that nobody holds, {stale[0]} for one", _SWEEP)
    return ok("every lock is held by a living run")


def _records(around: Surroundings) -> Finding:
    if not around.paths.runs.is_dir():
        return skipped("no run has been started yet")
    damaged: list[Path] = []
    files = sorted(around.paths.runs.glob("run_*.json"))
    for path in files:
        try:
            record.read(path)
        except (StateError, FileNotFoundError):
            damaged.append(path)
    if damaged:
        return warn(
            f"{len(damaged)} records cannot be read, {damaged[0]} for one", f"rm {damaged[0]}"
        )
    return ok(f"{len(files)} records")


def _trash(around: Surroundings) -> Finding:
    left = trash.leftovers((around.paths.trash, around.paths.temp / "trash"))
    if left:
        return warn(f"{len(left)} trees could not be removed, {left[0]} for one", _SWEEP)
    return ok("the trash is empty")


def _marks(around: Surroundings) -> Finding:
    """Look for entries that a sweep will never take, because homeroom did not make them."""
    try:
        names = sorted(os.listdir(around.paths.instances))
    except FileNotFoundError:
        return skipped("no run has been started yet")
    foreign = [name for name in names if name != "CACHEDIR.TAG" and not _is_ours(around, name)]
    if foreign:
        return warn(
            f"not made by homeroom, and left alone: {around.paths.instances / foreign[0]}",
            "look at it, and remove it by hand",
        )
    return ok("everything there is homeroom's own")


def _is_ours(around: Surroundings, name: str) -> bool:
    if not home.RUN_ID.fullmatch(name):
        return False
    return home.is_marked(home.instance_of(around.paths, name))


PROBES = (
    Probe("state.permissions", "The directories are private", _permissions, fix=_tighten),
    Probe("state.orphans", "No room of a dead run is left", _orphans, fix=_sweep),
    Probe("state.locks", "No lock is stale", _locks, fix=_sweep),
    Probe("state.records", "Every record can be read", _records),
    Probe("state.trash", "The trash is empty", _trash, fix=_sweep),
    Probe("state.foreign", "Nothing foreign lies among the rooms", _marks),
)
