"""Beginning to keep rooms in memory, where no run that is alive already may look."""

import contextlib
import os
from pathlib import Path

from homeroom import memory
from homeroom.errors import TryAgainError
from homeroom.files import ensure_private_dir
from homeroom.paths import Paths
from homeroom.run import lock


def begin(paths: Paths, place: Path, run_id: str) -> None:
    """Make a place in memory, unless it is there.

    A run's policy denies the places that were there when it started. One that is made while
    other runs are alive might be open to them.

    Args:
        paths: homeroom's directories.
        place: As ``memory.require`` gave it.
        run_id: The run that begins.

    Raises:
        TryAgainError: The place is new, and other runs are alive.
        StateError: It cannot be made, or is not private.
        StorageError: The operating system refused, a full disk for one.
    """
    memory.remember(paths, place)
    is_new = not os.path.lexists(place)
    ensure_private_dir(place)
    # In this order: a run that starts now takes its lock first, and then looks for places.
    others = _others(paths, run_id) if is_new else []
    if others:
        with contextlib.suppress(OSError):
            os.rmdir(place)
        raise TryAgainError(
            f"{others[0][:12]} is alive, which started before rooms were kept in {place} and "
            "might look into them",
            "wait for it to end, or run `homeroom stop --all`; then start again",
        )


def _others(paths: Paths, run_id: str) -> list[str]:
    if not paths.runs.is_dir():
        return []
    locks = sorted(paths.runs.glob("run_*.lock"))
    return [path.stem for path in locks if path.stem != run_id and lock.is_held(path)]
