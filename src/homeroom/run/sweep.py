"""Removing what dead runs left: everything that is ours, minus what is alive."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from homeroom import home, trash
from homeroom.errors import HomeroomError, StateError
from homeroom.files import ensure_private_dir, explain, is_temporary, is_there
from homeroom.paths import Paths
from homeroom.process import end_members
from homeroom.run import lock, record

YOUNGEST = 300.0
THROTTLE = 60.0
_GRACE = 2.0
# A write takes no longer than this: a younger file may be one that goes on at this moment.
_UNFINISHED = 5.0
ALIVE = "it is alive"
# Why one sweep passes over what another one is at.
TAKEN = "another sweep has it"

# Given a dead run's instance and its record.
Archive = Callable[[home.Instance, record.Record], object]
# Given a dead run's record.
Close = Callable[[record.Record], str | None]
Verdict = Literal["removed", "would remove", "spared", "failed"]


@dataclass(frozen=True)
class Entry:
    """What a sweep did with one run or leftover.

    Attributes:
        name: The run id, or the name of a leftover in the trash.
        verdict: What was done.
        reason: Why.
    """

    name: str
    verdict: Verdict
    reason: str


@dataclass(frozen=True)
class Report:
    """Everything one sweep looked at.

    Attributes:
        entries: One for each run or leftover.
    """

    entries: list[Entry] = field(default_factory=list)

    def count(self, verdict: Verdict) -> int:
        """Count the entries with a verdict."""
        return sum(entry.verdict == verdict for entry in self.entries)


def is_due(paths: Paths) -> bool:
    """Tell whether no sweep has run for a while, and note that one runs now.

    Args:
        paths: homeroom's directories.

    Returns:
        False within a minute of the last one.
    """
    stamp = paths.state / "last-sweep"
    ensure_private_dir(paths.state)
    try:
        if lock.age(stamp) < THROTTLE:
            return False
        descriptor = os.open(stamp, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        os.utime(descriptor)
        os.close(descriptor)
    except OSError as error:
        raise explain(error, stamp, "write") from error
    return True


def sweep(
    paths: Paths,
    *,
    dry_run: bool = False,
    youngest: float = YOUNGEST,
    archive: Archive | None = None,
    only: str | None = None,
    close: Close | None = None,
) -> Report:
    """Remove the trees of runs that are no longer alive.

    A run whose lock is held is alive. A dead run's agent is ended first. Only entries of
    run-id shape that carry homeroom's mark are taken, none that is younger than five
    minutes; after one entry fails, the others are still done.

    Args:
        paths: homeroom's directories.
        dry_run: Whether to only say what would be done.
        youngest: Entries younger than this many seconds are spared.
        archive: Keeps what is kept of a run, called between its agent's end and the wipe.
        only: The one run to look at; None for all, and what lies around besides.
        close: Called with the record after the wipe; gives what is kept elsewhere, or None.

    Returns:
        What was done with each entry.
    """
    report = Report()
    for run_id in [only] if only else _run_ids(paths):
        try:
            entry = _sweep_run(
                paths, run_id, youngest, dry_run=dry_run, archive=archive, close=close
            )
        except Exception as error:  # noqa: BLE001 - one run must never keep the others here
            entry = Entry(run_id, "failed", str(error))
        if entry is not None:
            report.entries.append(entry)
    if only:
        return report
    for directory in (paths.runs, paths.instances):
        try:
            strays = _strays(directory, max(youngest, _UNFINISHED))
        except OSError as error:
            report.entries.append(Entry(str(directory), "failed", str(error)))
            continue
        report.entries.extend(_sweep_stray(stray, dry_run=dry_run) for stray in strays)
    others = (paths.temp, paths.instances, paths.transcripts)
    for directory in (paths.trash, *(other / "trash" for other in others)):
        try:
            leftovers = trash.leftovers([directory])
        except (HomeroomError, OSError) as error:
            report.entries.append(Entry(str(directory), "failed", str(error)))
            continue
        report.entries.extend(_sweep_leftover(path, dry_run=dry_run) for path in leftovers)
    return report


def _run_ids(paths: Paths) -> list[str]:
    names: set[str] = set()
    for directory in (paths.instances, paths.runs):
        try:
            if directory.is_symlink():
                raise StateError(f"{directory} is a symlink", "replace it by a directory")
            names.update(name.partition(".")[0] for name in os.listdir(directory))
        except FileNotFoundError:
            continue
        except NotADirectoryError as error:
            raise StateError(f"{directory} is not a directory", "move it out of the way") from error
        except OSError as error:
            raise explain(error, directory, "look through") from error
    return sorted(name for name in names if home.RUN_ID.fullmatch(name))


def _sweep_run(
    paths: Paths,
    run_id: str,
    youngest: float,
    *,
    dry_run: bool,
    archive: Archive | None,
    close: Close | None,
) -> Entry | None:
    instance = home.instance_of(paths, run_id)
    lock_file = paths.runs / f"{run_id}.lock"
    record_file = paths.runs / f"{run_id}.json"
    if not _left(instance, record_file) and not is_there(lock_file):
        return None
    if lock.is_held(lock_file):
        return Entry(run_id, "spared", ALIVE)
    if min(lock.age(path) for path in (lock_file, record_file, instance.root)) < youngest:
        return Entry(run_id, "spared", f"it is younger than {youngest:.0f} seconds")
    if is_there(instance.root) and not home.is_marked(instance):
        return Entry(run_id, "spared", f"{instance.root} does not carry homeroom's mark")
    if dry_run:
        return Entry(run_id, "would remove", "its supervisor is gone")
    return _take(paths, instance, archive, close)


def _left(instance: home.Instance, record_file: Path) -> bool:
    """Tell whether anything of a run is left to do: a tree, or a record that is still open."""
    if is_there(instance.root) or is_there(instance.temp):
        return True
    current = _record_or_none(record_file)
    return current is not None and current.state not in record.FINAL


def _take(
    paths: Paths, instance: home.Instance, archive: Archive | None, close: Close | None
) -> Entry | None:
    lock_file = paths.runs / f"{instance.run_id}.lock"
    record_file = paths.runs / f"{instance.run_id}.json"
    ensure_private_dir(paths.runs)
    had_lock = is_there(lock_file)
    # One that is gone by now was another sweep's, which has done it.
    held = lock.try_acquire(lock_file, create=not had_lock)
    if held is None:
        return Entry(instance.run_id, "spared", TAKEN)
    # Under the lock once more: the run may have ended by itself since it was looked at.
    if not had_lock and not _left(instance, record_file):
        held.release()
        return None
    try:
        ended = end_members(instance.run_id, _GRACE)
        current = _record_or_none(record_file)
        if archive is not None and current is not None and current.state not in record.FINAL:
            archive(instance, current)
        home.wipe(instance, paths.trash)
        kept = None
        if current is not None and current.state not in record.FINAL:
            kept = close(current) if close is not None else None
            note = f"its supervisor died; swept{f'; {kept}' if kept else ''}"
            record.save(record_file, current.moved("crashed", ended=time.time(), note=note))
    except BaseException:
        held.abandon()
        raise
    held.release()
    agents = f", {ended} orphaned processes ended" if ended else ""
    more = f"; {kept}" if kept else ""
    return Entry(instance.run_id, "removed", f"its supervisor is gone{agents}{more}")


def _strays(directory: Path, youngest: float) -> list[Path]:
    """List files that a process had not finished when it died."""
    try:
        names = sorted(os.listdir(directory))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [
        directory / name
        for name in names
        if _is_unfinished(name)
        and (directory / name).is_file()
        and lock.age(directory / name) >= youngest
    ]


def _is_unfinished(name: str) -> bool:
    """Tell the file of an unfinished write, and an order that nobody came for."""
    return is_temporary(name) or name.endswith(".order")


def _sweep_stray(stray: Path, *, dry_run: bool) -> Entry:
    reason = "its writer died"
    if dry_run:
        return Entry(stray.name, "would remove", reason)
    try:
        stray.unlink(missing_ok=True)
    except OSError as error:
        return Entry(stray.name, "failed", str(error))
    return Entry(stray.name, "removed", reason)


def _record_or_none(path: Path) -> record.Record | None:
    try:
        return record.read(path)
    except (FileNotFoundError, StateError):
        return None


def _sweep_leftover(leftover: Path, *, dry_run: bool) -> Entry:
    if dry_run:
        return Entry(leftover.name, "would remove", "left in the trash")
    try:
        trash.remove_tree(leftover)
    except HomeroomError as error:
        return Entry(leftover.name, "failed", str(error))
    return Entry(leftover.name, "removed", "left in the trash")
