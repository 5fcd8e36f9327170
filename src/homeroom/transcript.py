"""Reading a run's conversation: of a live run from its room, of an ended one from the archive."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from homeroom import home, provider
from homeroom.errors import StorageError, UsageError
from homeroom.paths import Paths
from homeroom.provider import Message, Provider
from homeroom.run.find import Found

_CHUNK = 1024 * 1024


def locate(paths: Paths, run: Found) -> tuple[Provider, Path]:
    """Find a run's transcript.

    Args:
        paths: homeroom's directories.
        run: The run.

    Returns:
        Its adapter, and the file: the newest, where there are several.

    Raises:
        UsageError: There is none.
        StorageError: It is not in the room.
    """
    record = run.record
    adapter = provider.get(record.provider)
    instance = home.instance_of(paths, record.run_id)
    root = instance.home if run.is_alive else paths.transcripts / record.run_id
    found = _find(adapter, root, Path(record.workspace), record.run_id)
    if found is None:
        kept = "it has said nothing yet" if run.is_alive else "none was kept"
        raise UsageError(f"there is no transcript of {record.run_id}: {kept}")
    return adapter, found


def is_begun(paths: Paths, adapter: Provider, workspace: Path, run_id: str) -> bool:
    """Tell whether anything is said in what was kept of a run: agents write down silence, too.

    Args:
        paths: homeroom's directories.
        adapter: The run's.
        workspace: Where it worked.
        run_id: The run.
    """
    try:
        found = _find(adapter, paths.transcripts / run_id, workspace, run_id)
        return found is not None and any(True for _ in messages(adapter, found))
    except (StorageError, OSError):
        return False


def _find(adapter: Provider, root: Path, workspace: Path, run_id: str) -> Path | None:
    found = adapter.locate_transcript(root, workspace)
    if found is not None and not _is_below(found, root):
        raise StorageError(
            f"the transcript of {run_id} lies outside of its room: {found}",
            "the agent may have put a symlink there; look at it before you read it",
        )
    return found


def _is_below(found: Path, root: Path) -> bool:
    """Tell whether no symlink on the way leads out: an agent may have made any."""
    return Path(os.path.realpath(found)).is_relative_to(os.path.realpath(root))


def lines(path: Path, *, more: Callable[[], bool]) -> Iterator[bytes]:
    """Read a file's lines, and go on as long as there may be more.

    Reading is incremental: what was read once is not read again, however long the file.

    Args:
        path: The file. An agent writes it: a symlink is not followed.
        more: Asked at the end of the file; it may wait. False ends the reading.

    Yields:
        Whole lines, without their ends.

    Raises:
        StorageError: The file cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from error
    # The pieces of a line that has no end yet: an agent may write one of a gigabyte.
    pieces: list[bytes] = []
    is_last = False
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        while True:
            chunk = file.read(_CHUNK)
            if not chunk:
                if is_last:
                    break
                # What was written before the end, but after this look, is still to be read.
                is_last = not more()
                continue
            first, *others = chunk.split(b"\n")
            pieces.append(first)
            if others:
                yield b"".join(pieces)
                *whole, last = others
                yield from whole
                pieces = [last]
    if rest := b"".join(pieces):
        yield rest


def messages(
    adapter: Provider, path: Path, *, more: Callable[[], bool] = lambda: False
) -> Iterator[Message]:
    """Read a transcript's messages.

    Args:
        adapter: Knows the format.
        path: The file.
        more: As for ``lines``.

    Yields:
        What was said.
    """
    return adapter.read_transcript(lines(path, more=more))
