"""The place where a toolchain is made: one at a time, and nowhere near its final name."""

import contextlib
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from homeroom.errors import HomeroomError
from homeroom.files import PRIVATE_DIR, PRIVATE_FILE, create_private, explain, replace_private
from homeroom.toolchain.store import MARK
from homeroom.trash import remove_trees

STAGING_MARK = ".homeroom-staging"
_NAME = re.compile(r"\.staging-[0-9a-f]{12}")
_LOCK = ".setup.lock"


@contextlib.contextmanager
def exclusive(directory: Path, wait: Callable[[], None]) -> Iterator[int]:
    """Hold the lock of all installs below a directory.

    Args:
        directory: The directory of the toolchains, which exists.
        wait: Called once when another install holds the lock, before waiting for it.

    Yields:
        The lock's descriptor. Whoever inherits it keeps the lock: so a child that outlives
        a killed setup still keeps the next one from removing the tree under its feet.

    Raises:
        StateError: The directory cannot be written to.
        StorageError: The operating system refused for another reason.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(directory / _LOCK, flags, PRIVATE_FILE)
    except OSError as error:
        raise explain(error, directory / _LOCK, "open the lock") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            wait()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def remove_leftovers(directory: Path) -> None:
    """Remove what installs that were killed left behind; call it under the lock.

    Args:
        directory: The directory of the toolchains.

    Raises:
        StorageError: Something could not be removed.
    """
    for entry in sorted(directory.iterdir()):
        if _NAME.fullmatch(entry.name) and _is_ours(entry):
            remove_trees(entry)


def _is_ours(entry: Path) -> bool:
    status = os.lstat(entry)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        return False
    # Killed between mkdir and the mark, it is empty.
    return os.path.lexists(entry / STAGING_MARK) or not os.listdir(entry)


@contextlib.contextmanager
def staging(directory: Path) -> Iterator[Path]:
    """Give a private directory that is gone afterwards, unless it was published.

    Args:
        directory: The directory of the toolchains.

    Yields:
        The new directory, on the same file system as its final place.

    Raises:
        StateError: The directory cannot be written to.
        StorageError: The operating system refused for another reason.
    """
    stage = directory / f".staging-{secrets.token_hex(6)}"
    try:
        os.mkdir(stage, PRIVATE_DIR)
    except OSError as error:
        raise explain(error, stage, "make the directory") from error
    try:
        try:
            create_private(stage / STAGING_MARK, b"")
        except OSError as error:
            raise explain(error, stage, "write into") from error
        yield stage
    except BaseException as first:
        _remove_after(first, stage)
        raise


def _remove_after(first: BaseException, stage: Path) -> None:
    # What went wrong first is what the user must hear; a leftover goes with the next setup.
    try:
        remove_trees(stage)
    except (HomeroomError, OSError) as second:
        first.add_note(f"and {stage} could not be removed: {second}")


def publish(stage: Path, final: Path, mark: bytes) -> None:
    """Give a finished tree its final name, at which it is whole or not there.

    Args:
        stage: The tree.
        final: Its name; a damaged toolchain of that name is removed.
        mark: The content of the mark, written last.

    Raises:
        OSError: The operating system refused; the tree is not published.
        StorageError: It is published, but a damaged one could not be removed.
    """
    # A rename may reach the disk before the content of what is renamed: after a loss of
    # power the mark would then speak for files that are empty.
    os.sync()
    create_private(stage / MARK, mark)
    _sync(stage / MARK)
    _sync(stage)
    damaged = _set_aside(final)
    os.rename(stage, final)
    _sync(final.parent)
    (final / STAGING_MARK).unlink()
    if damaged:
        remove_trees(damaged)


def _set_aside(final: Path) -> Path | None:
    try:
        if not stat.S_ISDIR(os.lstat(final).st_mode):
            final.unlink()
            return None
    except FileNotFoundError:
        return None
    # Marked before it is moved, so that a kill in between leaves what the next setup removes.
    replace_private(final / STAGING_MARK, b"")
    aside = final.with_name(f".staging-{secrets.token_hex(6)}")
    os.rename(final, aside)
    return aside


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
