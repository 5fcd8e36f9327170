"""Which process is which, so that a reused pid is never taken for the one that is gone."""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from homeroom.errors import StateError

RUN_VARIABLE = "HOMEROOM_RUN"
_POLL = 0.02
_ROUNDS, _QUIET = 100, 2


def identity(pid: int) -> str | None:
    """Tell a process from every other one that ever had or will have its pid.

    Args:
        pid: A process id.

    Returns:
        A text that stays the same while the process lives, None when it is gone. On Linux
        the boot's id and the start in clock ticks (proc_pid_stat(5), field 22), which no
        clock change moves.
    """
    if sys.platform == "linux":
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        except (OSError, UnicodeDecodeError):
            return None
        return None if fields[0] in "ZX" else f"{boot}:{fields[19]}"
    import psutil

    try:
        return str(psutil.Process(pid).create_time())
    except psutil.Error:
        return None


def is_stopped(pid: int, known: str | None) -> bool:
    """Tell whether a process stands still, as Ctrl-Z makes it.

    Args:
        pid: A process id.
        known: The ``identity`` of the process that is meant.
    """
    if known is None or identity(pid) != known:
        return False
    import psutil

    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_STOPPED)
    except psutil.Error:
        return False


def descendants(pid: int) -> list[int]:
    """List the living children of a process, their children and so on, parents first."""
    import psutil

    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return []


def find_inside(ancestor: int, inner_pid: int) -> int | None:
    """Find the process below an ancestor that has a given pid in its own namespace.

    Args:
        ancestor: A pid as seen from here.
        inner_pid: The pid by which the process knows itself.

    Returns:
        Its pid as seen from here. srt nests two pid namespaces, so that the same number
        stands for a process of each: the agent is in the innermost one.
    """
    if sys.platform != "linux":
        return inner_pid if inner_pid in descendants(ancestor) else None
    chains = {pid: _namespace_pids(pid) for pid in descendants(ancestor)}
    matching = [pid for pid, chain in chains.items() if chain[-1:] == [inner_pid]]
    return max(matching, key=lambda pid: len(chains[pid]), default=None)


def _namespace_pids(pid: int) -> list[int]:
    """Read ``NSpid`` (proc_pid_status(5)): a process's pids, outermost namespace first."""
    try:
        with open(f"/proc/{pid}/status", "rb") as status:
            for line in status:
                if line.startswith(b"NSpid:"):
                    return [int(number) for number in line.split()[1:]]
    except OSError:
        pass
    return []


def members(run_id: str) -> Iterator[int]:
    """List the processes that carry a run's id in the environment they were started with.

    Args:
        run_id: The value of ``HOMEROOM_RUN``.

    Yields:
        Their pids, this process excepted. Processes of other users cannot be looked at
        and are none of ours.
    """
    import psutil

    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(RUN_VARIABLE) == run_id:
                yield process.pid
        except (psutil.Error, OSError):
            continue


def populated() -> frozenset[str]:
    """List the runs that have a process: for many runs cheaper than to ask for each.

    Returns:
        The values of ``HOMEROOM_RUN`` that the processes of this user were started with.
    """
    import psutil

    found: set[str] = set()
    # Twice: while one looks, a process can start another behind the look and be gone.
    for _ in range(2):
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                found.add(process.environ().get(RUN_VARIABLE, ""))
    return frozenset(found - {""})


def send(pid: int, number: int) -> bool:
    """Send a signal; a process that is gone is no error.

    Returns:
        Whether there was a process to send it to.
    """
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def send_group(group: int, number: int) -> bool:
    """Send a signal to a process group; a group that is gone is no error."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def freeze(agent: int, ancestor: int, run_id: str) -> list[int]:
    """Stop every process of an agent, those that it starts meanwhile too.

    Args:
        agent: Its pid as seen from here. What it was started by goes on.
        ancestor: The pid of the run's sandbox.
        run_id: The run.

    Returns:
        The pids that were stopped, those that already stood still excepted.
    """
    spared = {os.getpid(), ancestor, *_parents(agent)}
    # The sandbox's own parts are in namespaces further out.
    depth = len(_namespace_pids(agent))
    stopped: list[int] = []
    quiet = 0
    for _ in range(_ROUNDS):
        found = {*descendants(ancestor), *members(run_id)} - spared
        inside = [pid for pid in found if len(_namespace_pids(pid)) >= depth]
        moving = [pid for pid in inside if _is_moving(pid, is_asked=pid in stopped)]
        stopped += [pid for pid in moving if send(pid, signal.SIGSTOP)]
        quiet = 0 if moving else quiet + 1
        # Twice: while one looks, a process can start another behind the look.
        if quiet == _QUIET:
            break
    return list(dict.fromkeys(stopped))


def _is_moving(pid: int, *, is_asked: bool = False) -> bool:
    """Tell whether a process goes on; one that was asked to stop does so when it leaves the kernel.

    That can take for ever: in vfork(2) it waits for a child, which stands still as well.
    """
    import psutil

    try:
        status = psutil.Process(pid).status()
    except psutil.Error:
        return False
    if is_asked and status == psutil.STATUS_DISK_SLEEP:
        return False
    return status not in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)


def _parents(pid: int) -> list[int]:
    import psutil

    try:
        return [parent.pid for parent in psutil.Process(pid).parents()]
    except psutil.Error:
        return []


def end_members(run_id: str, grace: float) -> int:
    """End every process of a run: asked first, then killed.

    Args:
        run_id: The run.
        grace: How long to wait after asking, in seconds.

    Returns:
        How many processes there were.

    Raises:
        StateError: Some are still there after having been killed.
    """
    found = list(members(run_id))
    for pid in found:
        send(pid, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while (left := list(members(run_id))) and time.monotonic() < deadline:
        time.sleep(_POLL)
    # A process may fork while it is being killed: look again until none is left.
    deadline = time.monotonic() + 5
    while left:
        for pid in left:
            send(pid, signal.SIGKILL)
        time.sleep(_POLL)
        left = list(members(run_id))
        if left and time.monotonic() > deadline:
            raise StateError(
                f"processes {left} of {run_id} cannot be ended", "see what holds them: ps -l"
            )
    return len(found)
