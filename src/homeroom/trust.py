"""Files that decide what a run may do: nobody else may be able to write them."""

import os
import stat
from pathlib import Path

from homeroom.errors import ConfigError
from homeroom.files import open_regular, read_open

_GROUP, _OTHERS = stat.S_IWGRP, stat.S_IWOTH
# As many as Linux follows (path_resolution(7)).
_MOST_LINKS = 40


def read(path: Path, limit: int) -> bytes:
    """Read a file, unless somebody else could have written what is in it.

    A symlink is followed, and what it leads to is looked at as well: those who keep their
    files in a repository, or in a Nix store, link to them.

    Args:
        path: The file.
        limit: The most bytes to accept.

    Returns:
        The content.

    Raises:
        FileNotFoundError: Nothing is there, not even a symlink.
        StorageError: It is no regular file, is too large, or cannot be read.
        ConfigError: It, a symlink on the way, or the directory of one belongs to someone
            other than this user and root, or can be written by others.
    """
    descriptor = open_regular(path, follow=True)
    try:
        is_same = os.path.samestat(os.fstat(descriptor), _follow(path))
    except BaseException as error:
        os.close(descriptor)
        if isinstance(error, OSError):
            raise ConfigError(f"cannot look at {path}: {error.strerror}") from error
        raise
    if not is_same:
        os.close(descriptor)
        raise ConfigError(f"{path} was replaced while it was read", "try again")
    return read_open(descriptor, path, limit)


def _follow(path: Path) -> os.stat_result:
    """Look at each link on the way to a file, and at the file."""
    for _ in range(_MOST_LINKS):
        directory = Path(os.path.realpath(path.parent))
        place = directory / path.name
        _refuse_foreign_hands(directory, os.stat(directory))
        status = os.lstat(place)
        _refuse_foreign_hands(place, status)
        if not stat.S_ISLNK(status.st_mode):
            return status
        path = directory / os.readlink(place)
    raise ConfigError(f"{path} is a symlink in a circle", "replace it by a file")


def _refuse_foreign_hands(path: Path, status: os.stat_result) -> None:
    if status.st_uid not in (0, os.geteuid()):
        raise ConfigError(
            f"{path} belongs to uid {status.st_uid}, not to you (uid {os.geteuid()}) or to root: "
            "they could decide what your runs may do",
            f"look at what is in it, then make it yours: chown {os.geteuid()} {path}",
        )
    mode = status.st_mode
    # A link has no mode of its own. In a directory with the sticky bit, others can add
    # entries, and neither replace nor remove one that is not theirs.
    if stat.S_ISLNK(mode) or (stat.S_ISDIR(mode) and mode & stat.S_ISVTX):
        return
    others = "everybody" if mode & _OTHERS else ""
    if not others and mode & _GROUP and not _is_own_group(status):
        others = f"the group {status.st_gid}"
    if others:
        raise ConfigError(
            f"{path} can be written by {others} (mode {stat.S_IMODE(mode):04o}): "
            "they could decide what your runs may do",
            f"look at what is in it, then: chmod go-w {path}",
        )


def _is_own_group(status: os.stat_result) -> bool:
    """Tell whether a file's group is its owner alone, as many systems make one for each user.

    There files are open to the group by default (umask 002), which means nobody.
    """
    import grp
    import pwd

    try:
        owner = pwd.getpwuid(status.st_uid)
        group = grp.getgrgid(status.st_gid)
    except KeyError:
        return False
    is_its_own = owner.pw_gid == group.gr_gid and owner.pw_name == group.gr_name
    return is_its_own and set(group.gr_mem) <= {owner.pw_name}
