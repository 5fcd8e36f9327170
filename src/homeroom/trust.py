"""Files that decide what a run may do: nobody else may be able to write them, or swap them."""

import errno
import os
import shlex
import stat
from pathlib import Path

from homeroom import writers
from homeroom.errors import ConfigError, StorageError
from homeroom.files import open_regular, read_open

# As many as Linux follows (path_resolution(7)).
_MOST_LINKS = 40
_DECIDE = "they could decide what your runs may do"
_ELSEWHERE = "keep it where only you and root can write: see docs/reference/configuration.md"


def read(path: Path, limit: int) -> bytes:
    """Read a file, unless somebody else could have written it or put another in its place.

    Every directory on the way from the root on is looked at. A symlink is followed, and what
    it leads to is looked at as well: those who keep their files in a repository, or in a Nix
    store, link to them.

    Args:
        path: The file; symlinks in it must not have been resolved.
        limit: The most bytes to accept.

    Returns:
        The content.

    Raises:
        FileNotFoundError: Nothing is there, not even a symlink.
        StorageError: It is no regular file, is too large, or cannot be read.
        ConfigError: It, a directory or a symlink on the way belongs to someone other than
            this user and root, or can be written by others; or the symlinks make a circle.
    """
    try:
        descriptor = open_regular(path, follow=True)
    except StorageError as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.ELOOP:
            # Which links make the circle is told by who goes along them.
            _walk(path)
        raise
    try:
        is_same = os.path.samestat(os.fstat(descriptor), _walk(path))
    except BaseException:
        os.close(descriptor)
        raise
    if not is_same:
        os.close(descriptor)
        raise ConfigError(f"{path} was replaced while it was read", "try again")
    return read_open(descriptor, path, limit)


def _walk(path: Path) -> os.stat_result:
    """Go from the root to a file as the kernel does, and look at each step."""
    try:
        return _steps(path)
    except OSError as error:
        raise ConfigError(f"cannot look at {error.filename}: {error.strerror}") from error


def _steps(path: Path) -> os.stat_result:
    place, links = "/", list[str]()
    if not path.is_absolute():
        path = os.getcwd() / path
    left = str(path).split("/")[::-1]
    above = status = os.lstat(place)
    _refuse_foreign_hands(place, status, status)
    while left:
        name = left.pop()
        if name in ("", "."):
            continue
        if name == "..":
            # What was passed on the way down has been looked at.
            place = os.path.dirname(place)
            above = status = os.lstat(place)
            continue
        step = os.path.join(place, name)
        status = os.lstat(step)
        _refuse_foreign_hands(step, status, above)
        if not stat.S_ISLNK(status.st_mode):
            place, above = step, status
            continue
        links.append(step)
        if len(links) > _MOST_LINKS:
            raise ConfigError(_circle(path, links), "replace one of these symlinks by a file")
        target = os.readlink(step)
        left += target.split("/")[::-1]
        if target.startswith("/"):
            place = "/"
            above = os.lstat(place)
    return status


def _circle(path: Path, links: list[str]) -> str:
    last = links.pop()
    if last not in links:
        return f"{path}: more than {_MOST_LINKS} symlinks lead to it, the last one is {last}"
    again = len(links) - links[::-1].index(last) - 1
    circle = dict.fromkeys(links[again:])
    return f"{path}: the symlinks lead in a circle: {' -> '.join([*circle, last])}"


def _refuse_foreign_hands(path: str, status: os.stat_result, above: os.stat_result) -> None:
    mode, me = status.st_mode, os.geteuid()
    if not writers.is_own_or_roots(status, above):
        hint = f"look at what is in it, then make it yours: chown {me} {shlex.quote(path)}"
        if not stat.S_ISREG(mode):
            # A directory holds more than this file, and a link is no owner of what it names.
            hint = _ELSEWHERE
        raise ConfigError(
            f"{path} belongs to uid {status.st_uid}, not to you (uid {me}) or to root: {_DECIDE}",
            hint,
        )
    # A link has no mode of its own. In a directory with the sticky bit, others can add
    # entries, and neither replace nor remove one that is not theirs.
    if stat.S_ISLNK(mode) or (stat.S_ISDIR(mode) and mode & stat.S_ISVTX):
        return
    if others := writers.others(path, status):
        raise ConfigError(
            f"{path} can be written by {others} (mode {stat.S_IMODE(mode):04o}): {_DECIDE}",
            f"look at what is in it, then: chmod go-w {shlex.quote(path)}"
            if status.st_uid == me
            else _ELSEWHERE,
        )
