"""A run is alive while its lock is held: the kernel drops the lock on any death."""

import errno
import fcntl
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from homeroom.errors import StateError
from homeroom.files import PRIVATE_FILE, explain

# Nothing is there, or something that nobody can have locked.
_NO_LOCK = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EISDIR)


class RunLock(msgspec.Struct):
    """An exclusive lock on a file, held by this process until it is released.

    Attributes:
        path: The lock file.
        descriptor: Open and locked. Not inherited by children: a child that outlived the
            supervisor would keep a dead run alive.
    """

    path: Path
    descriptor: int

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()

    def release(self) -> None:
        """Remove the lock file, then let the lock go. A second call does nothing.

        Raises:
            StateError: The file cannot be removed; the lock is let go all the same.
        """
        if self.descriptor < 0:
            return
        descriptor, self.descriptor = self.descriptor, -1
        try:
            # In this order: whoever gets the lock next sees that the name is gone.
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise explain(error, self.path, "remove the lock") from error
        finally:
            os.close(descriptor)

    def abandon(self) -> None:
        """Let the lock go and leave its file, so that a sweep sees that something is left."""
        if self.descriptor >= 0:
            descriptor, self.descriptor = self.descriptor, -1
            os.close(descriptor)


def try_acquire(path: Path, *, create: bool = True) -> RunLock | None:
    """Take a lock without waiting.

    Args:
        path: The lock file.
        create: Whether to make it when it is missing.

    Returns:
        The lock, or None when another process holds it (or, with ``create=False``, when
        there is no such file).

    Raises:
        StateError: The file cannot be made or locked there.
    """
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT if create else 0)
    while True:
        try:
            descriptor = os.open(path, flags, PRIVATE_FILE)
        except FileNotFoundError as error:
            if not create:
                return None
            raise explain(error, path, "make the lock") from error
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise StateError(f"{path} is a symlink", "remove it") from error
            raise explain(error, path, "make the lock") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The holder before us may have removed the name between open and flock.
            if _is_still(path, descriptor):
                return RunLock(path, descriptor)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError as error:
            os.close(descriptor)
            raise explain(error, path, "lock") from error
        os.close(descriptor)


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def is_held(path: Path) -> bool:
    """Tell whether a living process holds a lock, without making or removing the file.

    Raises:
        StateError: Nobody can tell: the file cannot be opened.
        StorageError: The same, for another reason.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in _NO_LOCK:
            return False
        raise explain(error, path, "look at the lock") from error
    try:
        # Shared: two that look at once must not take each other for the holder.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError as error:
        raise explain(error, path, "look at the lock") from error
    else:
        return False
    finally:
        os.close(descriptor)


def holder(path: Path) -> int | None:
    """Find the process that holds a lock, as far as the kernel tells (proc_locks(5)).

    Args:
        path: The lock file.

    Returns:
        Its pid; None when nobody holds it, or nobody tells.
    """
    try:
        status = os.stat(path, follow_symlinks=False)
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return None
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    for line in lines:
        # 1: FLOCK ADVISORY WRITE 1234 fe:00:5678 0 EOF
        words = line.split()
        if words[1:2] == ["FLOCK"] and words[5:6] == [device] and words[4] != "0":
            return int(words[4])
    return None


def age(path: Path) -> float:
    """Tell how long ago a file or directory was last changed, in seconds.

    A time in the future (the clock was set back) counts as old, so that nothing is kept
    for ever; a missing file is infinitely old.
    """
    try:
        passed = time.time() - os.lstat(path).st_mtime
    except FileNotFoundError:
        return float("inf")
    return passed if passed > -1 else float("inf")
