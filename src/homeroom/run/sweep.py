"""Removing what dead runs left: everything that is ours, minus what is alive."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from homeroom import home, memory, trash
from homeroom.errors import HomeroomError, StateError
from homeroom.files import ensure_private_dir, explain, is_temporary, is_there
from homeroom.paths import Paths
from homeroom.run import lock
from homeroom.run.taking import ALIVE, Archive, Close, Entry, Verdict, is_left, take

YOUNGEST = 300.0
THROTTLE = 60.0
# A write takes no longer than this: a younger file may be one that goes on at this moment.
_UNFINISHED = 5.0
# A run that ended and left nothing: not worth a word.
_NOTHING = Entry("", "spared", "nothing is left of it")


class Report(msgspec.Struct, frozen=True):
    """Everything one sweep looked at.

    Attributes:
        entries: One for each run or leftover.
    """

    entries: list[Entry] = []

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
    dead: list[home.Instance] = []
    for run_id in [only] if only else _run_ids(paths):
        instance = home.instance_of(paths, run_id)
        try:
            entry = _spare(paths, instance, youngest)
        except Exception as error:  # noqa: BLE001 - one run must never keep the others here
            entry = Entry(run_id, "failed", str(error))
        if entry is None:
            dead.append(instance)
        elif entry is not _NOTHING:
            report.entries.append(entry)
    if dry_run:
        why = "its supervisor is gone"
        report.entries.extend(Entry(each.run_id, "would remove", why) for each in dead)
    else:
        report.entries.extend(take(paths, dead, archive, close))
    if not only:
        report.entries.extend(_sweep_loose(paths, max(youngest, _UNFINISHED), dry_run=dry_run))
    return report


def _sweep_loose(paths: Paths, youngest: float, *, dry_run: bool) -> Iterator[Entry]:
    """Remove what belongs to no run any more: unfinished files, and what is in the trash."""
    places = memory.places(paths)
    for why in memory.unusable(paths):
        yield Entry(paths.places.name, "failed", why)
    for directory in (paths.runs, *home.all_rooms(paths), *places):
        try:
            strays = _strays(directory, youngest)
        except OSError as error:
            yield Entry(str(directory), "failed", str(error))
            continue
        for stray in strays:
            yield _sweep_stray(stray, dry_run=dry_run)
    others = (paths.temp, paths.instances, paths.transcripts, *places)
    for directory in (paths.trash, *(other / "trash" for other in others)):
        try:
            leftovers = trash.leftovers([directory])
        except (HomeroomError, OSError) as error:
            yield Entry(str(directory), "failed", str(error))
            continue
        for path in leftovers:
            yield _sweep_leftover(path, dry_run=dry_run)


def _run_ids(paths: Paths) -> list[str]:
    names: set[str] = set()
    for directory in (*home.all_rooms(paths), paths.runs):
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


def _spare(paths: Paths, instance: home.Instance, youngest: float) -> Entry | None:
    """Say why a run is to be spared, or None when it is to go."""
    run_id = instance.run_id
    lock_file = paths.runs / f"{run_id}.lock"
    record_file = paths.runs / f"{run_id}.json"
    if not is_left(paths, instance) and not is_there(lock_file):
        return _NOTHING
    if lock.is_held(lock_file):
        return Entry(run_id, "spared", ALIVE)
    if min(lock.age(path) for path in (lock_file, record_file, instance.root)) < youngest:
        return Entry(run_id, "spared", f"it is younger than {youngest:.0f} seconds")
    if is_there(instance.root) and not home.is_marked(instance):
        return Entry(run_id, "spared", f"{instance.root} does not carry homeroom's mark")
    return None


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


def _sweep_leftover(leftover: Path, *, dry_run: bool) -> Entry:
    if dry_run:
        return Entry(leftover.name, "would remove", "left in the trash")
    try:
        trash.remove_trees(leftover)
    except HomeroomError as error:
        return Entry(leftover.name, "failed", str(error))
    return Entry(leftover.name, "removed", "left in the trash")
