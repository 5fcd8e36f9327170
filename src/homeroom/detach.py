"""Starting a run that nobody waits for."""

import json
import os
import shlex
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from homeroom import home, process
from homeroom.errors import HomeroomError, StateError, TryAgainError
from homeroom.files import ensure_private_dir, read_regular, replace_private
from homeroom.paths import Paths
from homeroom.run import lock, place, record
from homeroom.run.find import lock_file
from homeroom.run.record import Record
from homeroom.session.signals import Signals
from homeroom.session.tmux import Tmux

_START_LIMIT = 60.0
_END_LIMIT = 60.0
_ORDER_LIMIT = 15.0
_POLL = 0.05
_LIMIT = 16 * 1024 * 1024


def start(
    argv: Sequence[str],
    environ: Mapping[str, str],
    paths: Paths,
    directory: Path,
    name: str | None,
    agent: str,
    signals: Signals,
    in_memory: Path | None = None,
) -> Record:
    """Start ``homeroom`` again in a session that outlives this terminal.

    Args:
        argv: Its arguments, for a run in the foreground of that session.
        environ: Its environment. It travels in a private file: a command line can be seen,
            and a terminal server that is already running has an environment of its own.
        paths: homeroom's directories.
        directory: Where it starts.
        name: What the user calls the run, or None.
        agent: The provider's name. Both are for the session's status line.
        signals: This process's signals, already collected. One that comes before the agent has
            started ends the run.
        in_memory: The place in memory for rooms, where nothing of a credential may come to
            a disk; else None.

    Returns:
        The run's record, when its agent has started.

    Raises:
        EndedBySignalError: A signal came before the agent had started; nothing is left.
        ToolError: The session cannot be made.
        StateError: The run ended before its agent had started; it says why.
        TryAgainError: It did not start in time, or the place in memory cannot be begun now.
    """
    run_id = home.new_run_id()
    for path in (paths.state, paths.runs):
        ensure_private_dir(path)
    if in_memory is not None:
        place.begin(paths, in_memory, run_id)
    order = (in_memory or paths.runs) / f"{run_id}.order"
    tmux = Tmux(paths, environ)
    held = _module("homeroom.detach", str(order))
    words = [*argv[:1], "--run-id", run_id, *argv[1:]]
    document = {"argv": words, "environ": dict(environ), "directory": str(directory)}
    signals.check()
    try:
        tmux.hold(run_id, held, directory, f"{name or run_id[:12]} ({agent})")
        # Last: whoever is held waits for it, so that its first words are in the log.
        replace_private(order, json.dumps(document).encode())
        return _await_start(paths, run_id, tmux, signals)
    except HomeroomError:
        # A signal for the whole group may have ended a call of tmux, and be the true reason.
        if signals.is_ending():
            order.unlink(missing_ok=True)
            _end(paths, run_id, tmux, name)
        signals.check()
        raise
    finally:
        order.unlink(missing_ok=True)


def _module(name: str, *arguments: str) -> list[str]:
    """Give a command that runs one of our modules as this process would find it.

    Not ``python -m``: that looks for modules in the working directory first, which may be
    the workspace, where an agent can put a module of any name.
    """
    found = sys.path if sys.flags.safe_path else sys.path[1:]
    code = (
        "import os, runpy, sys; sys.path[:0] = sys.argv.pop(1).split(os.pathsep); "
        "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
    )
    # Entries that are not absolute would be looked for in the working directory as well.
    places = os.pathsep.join(entry for entry in found if os.path.isabs(entry))
    return [sys.executable, "-P", "-c", code, places, name, *arguments]


def _end(paths: Paths, run_id: str, tmux: Tmux, name: str | None) -> None:
    """End a run that nobody was told of, and wait until it is over.

    Raises:
        StateError: It is not over yet; it says how to stop it.
    """
    supervisor = tmux.process(run_id)
    if supervisor is not None:
        # The same process from the first: it has not become a run yet, or ends one in order.
        process.send(supervisor, signal.SIGTERM)
    deadline = time.monotonic() + _END_LIMIT
    while tmux.has(run_id) or lock.is_held(lock_file(paths, run_id)):
        if time.monotonic() > deadline:
            raise StateError(
                f"{run_id} was to end, and is not over after {_END_LIMIT:.0f} seconds",
                f"homeroom stop {shlex.quote(name or run_id[:12])}",
            )
        time.sleep(_POLL)
    if not (paths.runs / f"{run_id}.json").exists():
        tmux.log(run_id).unlink(missing_ok=True)


def _await_start(paths: Paths, run_id: str, tmux: Tmux, signals: Signals) -> Record:
    deadline = time.monotonic() + _START_LIMIT
    path = paths.runs / f"{run_id}.json"
    while time.monotonic() < deadline:
        try:
            found = record.read(path)
        except FileNotFoundError:
            found = None
        if found is not None and found.state not in ("allocated", "prepared"):
            if found.state == "failed":
                raise _failure(found, tmux)
            return found
        signals.check()
        if not tmux.has(run_id) and not lock.is_held(lock_file(paths, run_id)):
            raise StateError(f"the run did not start: {_last_words(tmux, run_id)}")
        time.sleep(_POLL)
    raise TryAgainError(
        f"the run did not start within {_START_LIMIT:.0f} seconds", f"homeroom logs {run_id[:12]}"
    )


def _failure(failed: Record, tmux: Tmux) -> HomeroomError:
    """Say why a run failed, with the exit code that it had in its session."""
    kinds = {
        kind.exit_code: kind for kind in HomeroomError.__subclasses__() if "exit_code" in vars(kind)
    }
    kind = kinds.get(failed.exit_status or 0, StateError)
    said = failed.note or _last_words(tmux, failed.run_id)
    return kind(f"the run failed: {said}", f"homeroom logs {failed.run_id[:12]}")


def _last_words(tmux: Tmux, run_id: str) -> str:
    try:
        text = read_regular(tmux.log(run_id), _LIMIT).decode(errors="replace")
    except FileNotFoundError:
        return "it said nothing"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line.partition("error: ")[2] for line in lines if "homeroom: error: " in line]
    return (errors or lines or ["it said nothing"])[-1]


def become(order: Path) -> None:
    """Turn this process, in its session, into the run that was ordered.

    Args:
        order: The file with what to become; it is removed as soon as it is read.

    Raises:
        TryAgainError: The order did not come.
        OSError: The program cannot be executed.
    """
    document = json.loads(_await_order(order))
    order.unlink(missing_ok=True)
    environ = {str(name): str(value) for name, value in document["environ"].items()}
    environ["TERM"] = os.environ.get("TERM", "xterm-256color")
    # tmux tells its sessions about itself; the run is none of its business.
    for name in ("TMUX", "TMUX_PANE"):
        environ.pop(name, None)
    os.chdir(document["directory"])
    program = _module("homeroom", *document["argv"])
    os.execve(sys.executable, program, environ)  # noqa: S606


def _await_order(order: Path) -> bytes:
    deadline = time.monotonic() + _ORDER_LIMIT
    while time.monotonic() < deadline:
        try:
            return read_regular(order, _LIMIT)
        except FileNotFoundError:
            time.sleep(_POLL)
    raise TryAgainError(f"no order came at {order}")


if __name__ == "__main__":
    # What the session of a detached run starts.
    become(Path(sys.argv[1]))
