"""Files and directories that are private from the moment they exist."""

import contextlib
import errno
import os
import re
import shlex
import stat
from collections.abc import Iterable
from pathlib import Path

from homeroom.errors import HomeroomError, StateError, StorageError

PRIVATE_DIR = 0o700
PRIVATE_FILE = 0o600


def explain(error: OSError, path: Path | str, doing: str) -> HomeroomError:
    """Turn an operating system error into one that names the file, the cause and a cure.

    Args:
        error: What the operating system said.
        path: The file it was about.
        doing: What was tried, as a verb phrase ("write", "make the directory").

    Returns:
        StateError for permissions and read-only places, StorageError for the rest.
    """
    message = f"cannot {doing} {path}: {error.strerror or error}"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StateError(
            message, "make it writable for you, or set HOMEROOM_HOME to a place that is"
        )
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageError(
            message,
            "free some space there, then run the command again; see docs/how-to/disk-full.md",
        )
    return StorageError(message)


def ensure_private_dir(path: Path) -> None:
    """Make a directory (and its parents) that only this user can enter, or check it.

    Args:
        path: An absolute path. Parents that are missing are made 0700 as well.

    Raises:
        StateError: It is a symlink, not a directory, someone else's, or open to others.
        StorageError: The operating system refused for another reason.
    """
    try:
        # Not by os.makedirs: its mode holds for the last directory only.
        for parent in reversed(path.parents):
            if not parent.is_dir():
                with contextlib.suppress(FileExistsError):
                    os.mkdir(parent, PRIVATE_DIR)
        try:
            os.mkdir(path, PRIVATE_DIR)
        except FileExistsError:
            check_private_dir(path)
    except OSError as error:
        raise explain(error, path, "make the directory") from error


def check_private_dir(path: Path) -> None:
    """Refuse a directory that another user could have prepared or can look into.

    Args:
        path: The directory, which must exist.

    Raises:
        StateError: It is a symlink, not a directory, someone else's, or open to others.
        OSError: It cannot be looked at.
    """
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        raise StateError(f"{path} is a symlink", "replace it by a directory of your own")
    if not stat.S_ISDIR(status.st_mode):
        raise StateError(f"{path} is not a directory", "move it out of the way")
    if status.st_uid != os.geteuid():
        raise StateError(
            f"{path} belongs to uid {status.st_uid}, not to you (uid {os.geteuid()})",
            "remove it, or set HOMEROOM_HOME to a place of your own",
        )
    if status.st_mode & 0o077:
        raise StateError(
            f"{path} is open to other users (mode {stat.S_IMODE(status.st_mode):04o})",
            f"chmod 700 {shlex.quote(str(path))}",
        )


def create_private(path: Path, content: bytes) -> None:
    """Write a new file, 0600 from the start, refusing to touch anything that is there.

    Args:
        path: Where; its directory exists.
        content: The whole content.

    Raises:
        FileExistsError: Something (a symlink too) is there already.
        OSError: It could not be written; nothing is left then.
    """
    create_private_from(path, [content])


def create_private_from(path: Path, blocks: Iterable[bytes]) -> None:
    """Do the same with a content that is made while it is written.

    Args:
        path: Where; its directory exists.
        blocks: The content.

    Raises:
        FileExistsError: Something (a symlink too) is there already.
        OSError: It could not be written; nothing is left then.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, PRIVATE_FILE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(blocks)
    except BaseException:
        os.unlink(path)
        raise


def replace_private(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old content or the new, never a part.

    Args:
        path: Where; what is there is replaced, a symlink itself and not its target.
        content: The whole content.

    Raises:
        OSError: It could not be written; the old content stays.
    """
    temporary = path.with_name(f".{path.name}.{os.urandom(6).hex()}")
    create_private(temporary, content)
    try:
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def is_there(path: Path) -> bool:
    """Tell whether something has that name, be it a symlink to nothing.

    Unlike ``os.path.lexists``, which takes what it cannot look at for missing.

    Raises:
        StateError: It cannot be looked at.
        StorageError: The operating system refused for another reason.
    """
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise explain(error, path, "look at") from error
    return True


def is_temporary(name: str) -> bool:
    """Tell whether a file of that name is what ``replace_private`` had not finished."""
    return re.fullmatch(r"\..+\.[0-9a-f]{12}", name) is not None


def open_regular(path: Path, *, follow: bool = False) -> int:
    """Open a regular file that may not be what it seems.

    Args:
        path: The file.
        follow: As for ``read_regular``.

    Returns:
        A descriptor to read from, which the caller closes.

    Raises:
        FileNotFoundError: Nothing is there, not even a symlink.
        StorageError: It is no regular file, or cannot be opened.
    """
    # O_NONBLOCK: opening a FIFO must not wait for a writer.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError as error:
        if os.path.islink(path):
            raise StorageError(f"{path} is a symlink to nothing") from error
        raise
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise StorageError(f"{path} is a symlink where a file should be") from error
        raise StorageError(f"cannot read {path}: {error.strerror}") from error
    try:
        # Before fdopen, which refuses a directory in its own words.
        is_regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
    except OSError as error:
        os.close(descriptor)
        raise StorageError(f"cannot read {path}: {error.strerror}") from error
    if not is_regular:
        os.close(descriptor)
        raise StorageError(f"{path} is not a regular file")
    return descriptor


def read_regular(path: Path, limit: int, *, follow: bool = False) -> bytes:
    """Read a regular file that may not be what it seems.

    Args:
        path: The file.
        limit: The most bytes to accept.
        follow: Whether the last component may be a symlink: yes for the user's own
            files, no in trees that an agent can write to.

    Returns:
        The content.

    Raises:
        FileNotFoundError: Nothing is there, not even a symlink.
        StorageError: It is no regular file, is too large, or cannot be read.
    """
    return read_open(open_regular(path, follow=follow), path, limit)


def read_open(descriptor: int, path: Path, limit: int) -> bytes:
    """Read what ``open_regular`` opened, and close it.

    Args:
        descriptor: The file.
        path: What it is called in errors.
        limit: The most bytes to accept.

    Returns:
        The content.

    Raises:
        StorageError: It is too large, or cannot be read.
    """
    try:
        size = os.fstat(descriptor).st_size
        if size > limit:
            raise StorageError(f"{path} is larger than {limit} bytes, which no such file is")
        # Without a file object, which would be most of what reading a thousand records costs.
        content = b""
        while len(content) <= limit and (more := os.read(descriptor, size + 1)):
            content += more
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from error
    finally:
        os.close(descriptor)
    if len(content) > limit:
        raise StorageError(f"{path} is larger than {limit} bytes, which no such file is")
    return content


def is_no_file(error: StorageError) -> bool:
    """Tell whether ``read_regular`` found something that is no file, not one it cannot read."""
    cause = error.__cause__
    no_file = (errno.ELOOP, errno.ENOENT, errno.ENOTDIR, errno.ENXIO)
    return not isinstance(cause, OSError) or cause.errno in no_file
