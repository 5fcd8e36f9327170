"""Finding runs: all of them, or the one that a user means."""

import os
import shlex
from pathlib import Path

import msgspec

from homeroom import home, process
from homeroom.errors import HomeroomError, StateError, StorageError, UsageError
from homeroom.files import explain, is_there
from homeroom.paths import Paths
from homeroom.run import lock, record
from homeroom.run.record import Record

_SHORTEST = 4
_LONGEST_NAME = 64
_BEGINNING = 10.0


class Found(msgspec.Struct, frozen=True):
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

    @property
    def is_suspended(self) -> bool:
        """Whether it is alive and stands still, by Ctrl-Z in its shell for one."""
        supervisor = self.record.supervisor, self.record.supervisor_identity
        return self.is_alive and process.is_stopped(*supervisor)

    @property
    def worktree(self) -> str | None:
        """The worktree that was added for it, as long as it is there."""
        added = self.record.worktree
        return added if added is not None and os.path.isdir(added) else None


class Unread(msgspec.Struct, frozen=True):
    """A run whose record is gone or cannot be read.

    Attributes:
        run_id: The run.
        why: What is wrong.
        is_alive: Whether its lock is held, or nobody can tell.
    """

    run_id: str
    why: str
    is_alive: bool

    @property
    def found(self) -> Found:
        """The run, for those who need no more than its id."""
        nothing = Record(
            run_id=self.run_id, provider="", workspace="", state="running", created=0, supervisor=0
        )
        return Found(nothing, self.is_alive)


def lock_file(paths: Paths, run_id: str) -> Path:
    """Tell where a run's lock is."""
    return paths.runs / f"{run_id}.lock"


def all_runs(paths: Paths) -> tuple[list[Found], list[Unread]]:
    """Read every record.

    Args:
        paths: homeroom's directories.

    Returns:
        The runs, oldest first, and those that nothing more is known of.

    Raises:
        StateError: There is no looking through the records.
        StorageError: The same, for another reason.
    """
    try:
        names = os.listdir(paths.runs)
    except FileNotFoundError:
        return [], []
    except OSError as error:
        raise explain(error, paths.runs, "look through") from error
    runs: list[Found] = []
    unread: list[Unread] = []
    # A lock tells of a run whose record was deleted.
    ids = {name.removesuffix(".json").removesuffix(".lock") for name in names}
    for run_id in sorted(one for one in ids if home.RUN_ID.fullmatch(one)):
        found = _look(paths, run_id)
        if isinstance(found, Found):
            runs.append(found)
        elif found is not None:
            unread.append(found)
    return sorted(runs, key=lambda run: run.record.created), unread


def _look(paths: Paths, run_id: str) -> Found | Unread | None:
    path = paths.runs / f"{run_id}.json"
    is_alive = True
    try:
        try:
            found = record.read(path)
        except FileNotFoundError:
            return _without_record(paths, run_id)
        except (StateError, StorageError) as error:
            is_alive = _is_alive(paths, run_id)
            return Unread(run_id, error.message, is_alive)
        if found.run_id != run_id:
            # It names the files that others remove: it must not lead elsewhere.
            is_alive = _is_alive(paths, run_id)
            return Unread(run_id, f"{path} is damaged: it is of another run", is_alive)
        # Only an open record's lock is worth a look: with a thousand ended ones it shows.
        is_open = found.state not in record.FINAL
        return Found(found, is_open and _is_alive(paths, run_id))
    except HomeroomError as error:
        return Unread(run_id, error.message, is_alive)
    except OSError as error:
        return Unread(run_id, explain(error, path, "look at").message, is_alive)


def _without_record(paths: Paths, run_id: str) -> Unread | None:
    # A run that begins at this moment has a lock and no record yet.
    if lock.age(lock_file(paths, run_id)) < _BEGINNING or not is_there(lock_file(paths, run_id)):
        return None
    is_alive = _is_alive(paths, run_id)
    how = "alive" if is_alive else "over, not swept"
    return Unread(
        run_id, f"{run_id} is {how}, and its record is gone: run `homeroom stop {run_id}`", is_alive
    )


def _is_alive(paths: Paths, run_id: str) -> bool:
    return lock.is_held(lock_file(paths, run_id))


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
    if len(name) > _LONGEST_NAME:
        raise UsageError(f"--name: longer than {_LONGEST_NAME} letters", "use a shorter one")
    for other in all_runs(paths)[0]:
        if other.is_alive and other.record.name == name and other.record.run_id != run_id:
            raise UsageError(
                f"a live run is called {name!r} already: {other.record.run_id[:12]}",
                f"choose another --name, or run `homeroom stop {shlex.quote(name)}`",
            )


def one(paths: Paths, word: str, *, alive: bool = False, unread: bool = False) -> Found:
    """Find the run that a user means.

    Args:
        paths: homeroom's directories.
        word: Its name, its id, or a beginning of that no other run shares.
        alive: Whether only runs that are alive count.
        unread: Whether one counts of which nothing but its id is known.

    Returns:
        The run. Of several with one name the one that is alive, else the newest.

    Raises:
        UsageError: None is meant, or several.
        StateError: Its record is gone or cannot be read.
    """
    runs, strange = all_runs(paths)
    if alive:
        runs = [run for run in runs if run.is_alive]
    named = [run for run in runs if run.record.name == word]
    if named:
        return max(named, key=lambda run: (run.is_alive, run.record.created))
    plain = word.removeprefix("run_")
    begun = [run for run in runs if run.record.run_id.startswith(f"run_{plain}")]
    others = [run for run in strange if run.run_id.startswith(f"run_{plain}")]
    if not begun and len(others) == 1 and len(plain) >= _SHORTEST and not unread:
        raise StateError(others[0].why, f"homeroom stop {others[0].run_id[:12]}")
    begun += [run.found for run in others]
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
