"""Beginning to keep rooms in memory, where no run that is alive already may look."""

import contextlib
import os
import time
from pathlib import Path

from homeroom import memory
from homeroom.errors import TryAgainError
from homeroom.files import ensure_private_dir, explain, replace_private
from homeroom.paths import Paths
from homeroom.run import lock

# Once this is in a place, every run that is alive denies that.
_SETTLED = ".settled"
# What another run may take from its lock to its word here.
_PATIENCE = 2.0
_POLL = 0.02


def begin(paths: Paths, place: Path, run_id: str) -> None:
    """Make a place in memory, unless it is there and every run denies it.

    A run's policy denies the places that were there when it started. One that is made while
    other runs are alive might be open to them; not to those that begin it as well, which
    deny the directory that it is in.

    Args:
        paths: homeroom's directories.
        place: As ``memory.require`` gave it.
        run_id: The run that begins.

    Raises:
        TryAgainError: The place is new, and other runs are or were alive.
        StateError: It cannot be made, or is not private.
        StorageError: The operating system refused, a full disk for one.
    """
    memory.remember(paths, place)
    ensure_private_dir(place)
    if os.path.lexists(place / _SETTLED):
        return
    # In this order: a run that starts now takes its lock first, and then looks for places.
    word = _word(place, run_id)
    try:
        replace_private(word, b"")
        _await_others(paths, place, run_id)
        replace_private(place / _SETTLED, b"")
    except FileNotFoundError as error:
        raise TryAgainError(f"another run has just given up {place}", "start again") from error
    except OSError as error:
        raise explain(error, place, "write to") from error
    finally:
        with contextlib.suppress(OSError):
            word.unlink(missing_ok=True)
        # Only where nothing is in it: nobody has begun.
        with contextlib.suppress(OSError):
            os.rmdir(place)


def _word(place: Path, run_id: str) -> Path:
    """Name what a run says that it begins by; a sweep takes it for an unfinished file."""
    return place / f".{run_id}.{run_id[-12:]}"


def _await_others(paths: Paths, place: Path, run_id: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while others := _others(paths, place, run_id):
        if os.path.lexists(place / _SETTLED):
            return
        if time.monotonic() > deadline:
            raise TryAgainError(
                f"{others[0][:12]} is alive, which started before rooms were kept in {place} and "
                "might look into them",
                "wait for it to end, or run `homeroom stop --all`; then start again",
            )
        time.sleep(_POLL)


def _others(paths: Paths, place: Path, run_id: str) -> list[str]:
    """List the living runs that have not said that they begin as well."""
    if not paths.runs.is_dir():
        return []
    locks = sorted(paths.runs.glob("run_*.lock"))
    others = [path.stem for path in locks if path.stem != run_id and lock.is_held(path)]
    return [other for other in others if not os.path.lexists(_word(place, other))]
