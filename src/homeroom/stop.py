"""Ending runs from outside: asked first, then forced, and always cleaned up after."""

import signal
import time
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from homeroom import process
from homeroom.errors import HomeroomError
from homeroom.paths import Paths
from homeroom.run import lock, record, sweep, taking
from homeroom.run.find import Found, lock_file

# What the supervisor itself may take: its agent's grace, two steps of its ladder, the wipe.
_SUPERVISOR_SLACK = 15.0
_DEATH_LIMIT = 5.0
_POLL = 0.05


class Stopped(msgspec.Struct, frozen=True):
    """What became of one run.

    Attributes:
        run_id: The run.
        how: "ended" by itself when asked, "forced", "was over" already, or "failed".
        note: Why it failed.
    """

    run_id: str
    how: Literal["ended", "forced", "was over", "failed"]
    note: str | None = None


def stop(
    paths: Paths,
    runs: Sequence[Found],
    *,
    grace: float,
    clean: Callable[[str], sweep.Report],
) -> list[Stopped]:
    """End runs, all at once.

    Each supervisor is asked; it ends its agent, keeps its transcripts and wipes its room.
    One that does not is killed, and its room swept. Two that stop one run at once do it
    once: whoever comes second finds the lock free.

    Args:
        paths: homeroom's directories.
        runs: The runs.
        grace: How long an agent that was asked may take, in seconds.
        clean: Sweeps one run, whatever its age.

    Returns:
        What became of each, in their order.
    """
    for run in runs:
        if run.is_alive and _signal(paths, run, signal.SIGTERM):
            # One that was stopped by Ctrl-Z hears of it only when it goes on.
            _signal(paths, run, signal.SIGCONT)
        elif run.is_alive:
            # Nobody knows who holds it: whoever does sees the agent end, and ends as well.
            process.end_members(run.record.run_id, grace)
    deadline = time.monotonic() + grace + _SUPERVISOR_SLACK
    return [_finish(paths, run, deadline, clean) for run in runs]


def _signal(paths: Paths, run: Found, number: int) -> bool:
    """Signal a supervisor, and never another process that has its pid by now."""
    pid, known = run.record.supervisor, run.record.supervisor_identity
    current = process.identity(pid)
    if known is None or current not in (None, known):
        # The record does not tell: then it is whoever holds the lock, where the kernel does.
        pid = lock.holder(lock_file(paths, run.record.run_id)) or 0
    elif current is None:
        return False
    return pid > 0 and process.send(pid, number)


def _finish(
    paths: Paths, run: Found, deadline: float, clean: Callable[[str], sweep.Report]
) -> Stopped:
    run_id = run.record.run_id
    if not run.is_alive:
        return _clean(paths, run_id, clean, "was over", deadline)
    if not _await_free(paths, run_id, deadline):
        _signal(paths, run, signal.SIGKILL)
        # The kernel lets the lock go as soon as the last of the process is gone.
        deadline = time.monotonic() + _DEATH_LIMIT
    elif _is_closed(paths, run_id):
        return Stopped(run_id, "ended")
    return _clean(paths, run_id, clean, "forced", deadline)


def _await_free(paths: Paths, run_id: str, deadline: float) -> bool:
    while lock.is_held(lock_file(paths, run_id)):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL)
    return True


def _is_closed(paths: Paths, run_id: str) -> bool:
    """Tell whether a run's record says that it is over; a damaged or missing one does not."""
    try:
        return record.read(paths.runs / f"{run_id}.json").state in record.FINAL
    except (FileNotFoundError, HomeroomError):
        return False


def _clean(
    paths: Paths,
    run_id: str,
    clean: Callable[[str], sweep.Report],
    how: Literal["was over", "forced"],
    deadline: float,
) -> Stopped:
    while True:
        is_free = _await_free(paths, run_id, deadline)
        left = [entry for entry in clean(run_id).entries if entry.verdict in ("failed", "spared")]
        if not left:
            return Stopped(run_id, how)
        # Whoever cleans it at this moment does what is asked for: then it is gone next time.
        if left[0].reason not in (taking.ALIVE, taking.TAKEN) or not is_free:
            return Stopped(run_id, "failed", left[0].reason)
        time.sleep(_POLL)
