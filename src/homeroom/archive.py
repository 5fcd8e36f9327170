"""What is kept of a run: its transcripts, with secrets replaced."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from homeroom.errors import StorageError
from homeroom.files import create_private, ensure_private_dir, explain, read_regular
from homeroom.redact import redact

_LIMIT = 2 * 1024 * 1024 * 1024


def keep(
    transcripts: Sequence[Path], home: Path, destination: Path, secrets: Iterable[str]
) -> list[Path]:
    """Copy transcripts out of a room before it is wiped.

    Args:
        transcripts: Files below the home; the agent wrote them, so none is trusted to be
            what it seems: a symlink or a device is left out.
        home: The instance home, whose layout the copies keep.
        destination: A directory for this run alone, made when there is something to keep.
        secrets: The run's own credential values, replaced wherever they occur.

    Returns:
        The copies, 0600.

    Raises:
        StateError: The destination cannot be used.
        StorageError: A copy could not be written.
    """
    kept: list[Path] = []
    values = tuple(secrets)
    for source in transcripts:
        try:
            inside = Path(os.path.realpath(source.parent)).is_relative_to(os.path.realpath(home))
            content = read_regular(source, _LIMIT) if inside else None
        except (FileNotFoundError, StorageError):
            content = None
        if content is None:
            continue
        target = destination / source.relative_to(home)
        for directory in reversed(target.relative_to(destination.parent).parents):
            ensure_private_dir(destination.parent / directory)
        try:
            # There is one when an earlier try was cut short; it may be a part.
            target.unlink(missing_ok=True)
            create_private(target, redact(content, values))
        except OSError as error:
            raise explain(error, target, "write") from error
        kept.append(target)
    return kept
