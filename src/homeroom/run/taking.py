"""Taking dead runs: what still runs of them is ended, their trees go, their records close."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from homeroom import home, trash
from homeroom.errors import HomeroomError, StateError
from homeroom.files import ensure_private_dir, is_there
from homeroom.paths import Paths
from homeroom.process import end_members, populated
from homeroom.run import lock, record

# As many trees go in one call of rm: to start it costs as much as two hundred files do.
_BATCH = 32
_GRACE = 2.0
ALIVE = "it is alive"
# Why one sweep passes over what another one is at.
TAKEN = "another sweep has it"
# The run had not begun, or its end was all but over.
ONLY_LOCK = "only its lock was left"

# Given a dead run's instance and its record.
Archive = Callable[[home.Instance, record.Record], object]
# Given a dead run's record.
Close = Callable[[record.Record], str | None]
Verdict = Literal["removed", "would remove", "spared", "failed"]


class Entry(msgspec.Struct, frozen=True):
    """What a sweep did with one run or leftover.

    Attributes:
        name: The run id, or the name of a leftover in the trash.
        verdict: What was done.
        reason: Why.
    """

    name: str
    verdict: Verdict
    reason: str


class _Taken(msgspec.Struct, frozen=True):
    """A run whose lock is ours and whose trees are out of the way.

    Attributes:
        run_id: The run.
        held: Its lock.
        open_record: Its record, where that is still to be closed.
        ended: How many processes of it were ended.
        trees: Where its trees are now.
    """

    run_id: str
    held: lock.RunLock
    open_record: record.Record | None
    ended: int
    trees: tuple[Path, ...]


def take(
    paths: Paths,
    instances: Sequence[home.Instance],
    archive: Archive | None,
    close: Close | None,
) -> Iterator[Entry]:
    """Take dead runs, each whole or not at all; after one fails, the others are still done.

    Args:
        paths: homeroom's directories.
        instances: Runs whose supervisors were seen to be gone.
        archive: Keeps what is kept of a run, called between its agent's end and the wipe.
        close: Called with the record after the wipe; gives what is kept elsewhere, or None.

    Yields:
        What was done with each.
    """
    # Once for all of them. Whoever could still start a process of theirs would be in there.
    agents = populated() if instances else frozenset()
    for first in range(0, len(instances), _BATCH):
        taken: list[_Taken] = []
        try:
            for instance in instances[first : first + _BATCH]:
                try:
                    one = _take(paths, instance, archive, has_agents=instance.run_id in agents)
                except Exception as error:  # noqa: BLE001 - one must never keep the others here
                    one = Entry(instance.run_id, "failed", str(error))
                if isinstance(one, Entry):
                    yield one
                elif one is not None:
                    taken.append(one)
            # What is left of one is said below, where its turn comes.
            with contextlib.suppress(HomeroomError):
                trash.remove_trees(*(tree for one in taken for tree in one.trees))
            for one in taken:
                try:
                    yield _finish(paths, one, close)
                except Exception as error:  # noqa: BLE001 - the same
                    yield Entry(one.run_id, "failed", str(error))
        finally:
            for one in taken:
                one.held.abandon()


def is_left(paths: Paths, instance: home.Instance) -> bool:
    """Tell whether anything of a run is left to do: a tree, or a record that is still open."""
    if is_there(instance.root) or is_there(instance.temp):
        return True
    return _open_record(paths, instance.run_id) is not None


def _take(
    paths: Paths, instance: home.Instance, archive: Archive | None, *, has_agents: bool
) -> _Taken | Entry | None:
    lock_file = paths.runs / f"{instance.run_id}.lock"
    ensure_private_dir(paths.runs)
    # One that is there is of a run that nobody took yet. To make one is no proof of that.
    held = lock.try_acquire(lock_file, create=False)
    is_made = held is None
    held = held or lock.try_acquire(lock_file)
    if held is None:
        return Entry(instance.run_id, "spared", TAKEN)
    try:
        if not has_agents and not is_left(paths, instance):
            held.release()
            return None if is_made else Entry(instance.run_id, "removed", ONLY_LOCK)
        ended = end_members(instance.run_id, _GRACE) if has_agents else 0
        current = _open_record(paths, instance.run_id)
        if archive is not None and current is not None:
            archive(instance, current)
        trees = home.set_aside(instance, instance.trash)
    except BaseException:
        held.abandon()
        raise
    return _Taken(instance.run_id, held, current, ended, trees)


def _finish(paths: Paths, taken: _Taken, close: Close | None) -> Entry:
    trash.remove_trees(*taken.trees)
    kept = None
    if taken.open_record is not None:
        kept = close(taken.open_record) if close is not None else None
        note = f"its supervisor died; swept{f'; {kept}' if kept else ''}"
        crashed = taken.open_record.moved("crashed", ended=time.time(), note=note)
        record.save(paths.runs / f"{taken.run_id}.json", crashed)
    taken.held.release()
    agents = f", {taken.ended} orphaned processes ended" if taken.ended else ""
    more = f"; {kept}" if kept else ""
    return Entry(taken.run_id, "removed", f"its supervisor is gone{agents}{more}")


def _open_record(paths: Paths, run_id: str) -> record.Record | None:
    try:
        found = record.read(paths.runs / f"{run_id}.json")
    except (FileNotFoundError, StateError):
        return None
    return None if found.state in record.FINAL else found
