"""One JSON file a run: what it was, never a secret. It survives the wipe as history."""

from pathlib import Path
from typing import Literal, get_args

import msgspec

from homeroom.errors import StateError, StorageError
from homeroom.files import explain, is_no_file, read_regular, replace_private

SCHEMA = 1
_LIMIT = 1024 * 1024

RunState = Literal["allocated", "prepared", "running", "ending", "ended", "failed", "crashed"]

# What may follow what. A run that fails or crashes may do so at any time before its end.
_NEXT: dict[RunState, tuple[RunState, ...]] = {
    "allocated": ("prepared", "failed", "crashed"),
    "prepared": ("running", "failed", "crashed"),
    "running": ("ending", "failed", "crashed"),
    "ending": ("ended", "failed", "crashed"),
    "ended": (),
    "failed": (),
    "crashed": (),
}
FINAL = frozenset(state for state in get_args(RunState) if not _NEXT[state])


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is known of a run.

    Attributes:
        run_id: The run.
        provider: The agent's name.
        workspace: Where it works; bytes that are no UTF-8 are escaped.
        state: How far it got.
        created: Seconds since the epoch.
        ended: The same, when it is over.
        supervisor: The pid of the process that holds the lock.
        supervisor_identity: Tells that process from a later one with its pid.
        sandbox: The pid, and process group, of the sandbox.
        exit_status: What ``start`` returned.
        note: Why it failed, where it did.
        name: What the user calls it, or None.
        session: How it is held.
        container: Whether it is in a container of its own.
        trial: Whether it was only to see whether the agent starts, or to log in.
        worktree: The worktree that was added for it, or None.
        grant: Where the room holds what renews a grant: a digest of that.
        grant_from: The same: where the grant is from, ``store`` or ``vault/<profile>``.
        schema: The version of this layout.
    """

    run_id: str
    provider: str
    workspace: str
    state: RunState
    created: float
    supervisor: int
    supervisor_identity: str | None = None
    sandbox: int | None = None
    ended: float | None = None
    exit_status: int | None = None
    note: str | None = None
    name: str | None = None
    session: Literal["foreground", "tmux"] = "foreground"
    container: bool = False
    trial: bool = False
    worktree: str | None = None
    grant: str | None = None
    grant_from: str | None = None
    schema: int = SCHEMA

    def moved(self, state: RunState, **changes: object) -> "Record":
        """Return the record in its next state.

        Args:
            state: The state to go to.
            changes: Other fields to replace.

        Raises:
            ValueError: No run goes from its state to that one.
        """
        if state not in _NEXT[self.state]:
            raise ValueError(f"a run cannot go from {self.state} to {state}")
        return msgspec.structs.replace(self, state=state, **changes)


def save(path: Path, record: Record) -> None:
    """Write a record, whole or not at all.

    Raises:
        StateError: The directory cannot be written to.
        StorageError: The operating system refused, a full disk for one.
    """
    texts = {
        name: value.encode(errors="backslashreplace").decode()
        for name, value in msgspec.structs.asdict(record).items()
        if isinstance(value, str)
    }
    content = msgspec.json.encode(msgspec.structs.replace(record, **texts))
    try:
        replace_private(path, msgspec.json.format(content))
    except OSError as error:
        raise explain(error, path, "write the record") from error


def read(path: Path) -> Record:
    """Read a record.

    Raises:
        FileNotFoundError: There is none.
        StateError: It is damaged, or of a newer homeroom.
        StorageError: It may be neither, but cannot be read.
    """
    try:
        content = read_regular(path, _LIMIT)
    except StorageError as error:
        if not is_no_file(error):
            raise
        raise StateError(str(error)) from error
    try:
        found = msgspec.json.decode(content, type=Record)
        if found.schema != SCHEMA:
            raise msgspec.ValidationError(f"its schema is {found.schema}, not {SCHEMA}")
        return found  # noqa: TRY300 - the check is a part of reading
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StateError(
            f"{path} is damaged or of another version of homeroom: {error}",
            "remove it if its run is over",
        ) from error
