"""Finding runs: all of them, or the one that a user means."""

import os
from dataclasses import dataclass
from pathlib import Path

from homeroom import home
from homeroom.errors import StateError, UsageError
from homeroom.paths import Paths
from homeroom.run import lock, record
from homeroom.run.record import Record

_SHORTEST = 4


@dataclass(frozen=True)
class Found:
    """A run that there is a record of.

    Attributes:
        record: What is known of it.
        is_alive: Whether its lock is held at this moment.
    """

    record: Record
    is_alive: bool

    @property
    def state(self) -> str:
        """How far it got; "crashed" where its supervisor is gone and nobody swept yet."""
        if self.record.state in record.FINAL or self.is_alive:
            return self.record.state
        return "crashed"


def lock_file(paths: Paths, run_id: str) -> Path:
    """Tell where a run's lock is."""
    return paths.runs / f"{run_id}.lock"


def all_runs(paths: Paths) -> tuple[list[Found], list[str]]:
    """Read every record.

    Args:
        paths: homeroom's directories.

    Returns:
        The runs, oldest first, and what is wrong with the records that cannot be read.
    """
    runs: list[Found] = []
    damaged: list[str] = []
    directory = paths.runs
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return [], []
    for name in names:
        run_id, _, ending = name.partition(".")
        if ending != "json" or not home.RUN_ID.fullmatch(run_id):
            continue
        try:
            found = record.read(directory / name)
        except FileNotFoundError:
            continue
        except StateError as error:
            damaged.append(error.message)
            continue
        if found.run_id != run_id:
            # It names the files that others remove: it must not lead elsewhere.
            damaged.append(f"{directory / name} is damaged: it is of another run")
            continue
        # Only an open record's lock is worth a look: with a thousand ended ones it shows.
        is_open = found.state not in record.FINAL
        runs.append(Found(found, is_open and lock.is_held(lock_file(paths, run_id))))
    return sorted(runs, key=lambda run: run.record.created), damaged


def refuse_taken(paths: Paths, name: str | None, run_id: str | None = None) -> None:
    """Refuse a name that a living run has already.

    Args:
        paths: homeroom's directories.
        name: The name; None for a run without one.
        run_id: The run that wants it, which has a record already, or None.

    Raises:
        UsageError: Another one has it. Of two that start at once both may be refused, and
            never none.
    """
    if name is None:
        return
    if not name or any(not letter.isprintable() for letter in name) or name != name.strip():
        raise UsageError(f"--name {name!r}: not a name", "use letters and digits")
    for other in all_runs(paths)[0]:
        if other.is_alive and other.record.name == name and other.record.run_id != run_id:
            raise UsageError(
                f"a live run is called {name!r} already: {other.record.run_id[:12]}",
                f"choose another --name, or run `homeroom stop {name}`",
            )


def one(paths: Paths, word: str, *, alive: bool = False) -> Found:
    """Find the run that a user means.

    Args:
        paths: homeroom's directories.
        word: Its name, its id, or a beginning of that no other run shares.
        alive: Whether only runs that are alive count.

    Returns:
        The run. Of several with one name the one that is alive, else the newest.

    Raises:
        UsageError: None is meant, or several.
    """
    runs, _ = all_runs(paths)
    if alive:
        runs = [run for run in runs if run.is_alive]
    named = [run for run in runs if run.record.name == word]
    if named:
        return max(named, key=lambda run: (run.is_alive, run.record.created))
    plain = word.removeprefix("run_")
    begun = [run for run in runs if run.record.run_id.startswith(f"run_{plain}")]
    if len(begun) == 1 and len(plain) >= _SHORTEST:
        return begun[0]
    kind = "live run" if alive else "run"
    hint = "homeroom list" if alive else "homeroom list --all"
    if len(plain) < _SHORTEST and begun:
        raise UsageError(f"{word!r} is too short to name a {kind}: give {_SHORTEST} digits", hint)
    if begun:
        ids = ", ".join(run.record.run_id[:12] for run in begun)
        raise UsageError(f"{word!r} names several runs: {ids}", "give more of the id")
    raise UsageError(f"no {kind} is called {word!r}", hint)
