"""What is kept of a run: its transcripts, with secrets replaced."""

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from homeroom.errors import StorageError
from homeroom.files import create_private_from, ensure_private_dir, explain, open_regular
from homeroom.redact import MASK, redact

_LIMIT = 4 * 1024 * 1024 * 1024
_BLOCK = 4 * 1024 * 1024
_LONGEST = 64 * 1024 * 1024


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
            descriptor = open_regular(source) if inside else None
        except (FileNotFoundError, StorageError):
            descriptor = None
        if descriptor is None:
            continue
        target = destination / source.relative_to(home)
        with os.fdopen(descriptor, "rb") as file:
            for directory in reversed(target.relative_to(destination.parent).parents):
                ensure_private_dir(destination.parent / directory)
            try:
                # There is one when an earlier try was cut short; it may be a part.
                target.unlink(missing_ok=True)
                create_private_from(target, (redact(block, values) for block in _blocks(file)))
            except OSError as error:
                raise explain(error, target, "write") from error
        kept.append(target)
    return kept


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    """Read a file in blocks of whole lines, so that no secret is cut in two.

    An agent may have written what no memory holds: of a line that does not end only a mark is
    kept, and what lies beyond the limit is not read. What cannot be read ends the copy.
    """
    with contextlib.suppress(OSError):
        while file.tell() < _LIMIT and (block := file.read(_BLOCK)):
            block += file.readline(_LONGEST)
            if block.endswith(b"\n") or len(block) < _BLOCK + _LONGEST:
                yield block
                continue
            yield block[: block.rfind(b"\n") + 1] + f"{MASK}\n".encode()
            while file.tell() < _LIMIT and (rest := file.readline(_BLOCK)):
                if rest.endswith(b"\n"):
                    break
