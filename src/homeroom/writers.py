"""Who else can write a file: its owner, its mode, its group and its access control list."""

import errno
import os
import stat
import struct
import sys

_SOMEBODY, _SOME_GROUP, _OWN_GROUP = 0x02, 0x08, 0x04
_LIST = "system.posix_acl_access"
_OF_ROOT = "/proc/sys/kernel/overflowuid"
_ACCOUNTS = "/etc/passwd"
_NO_LIST = (errno.ENODATA, errno.EOPNOTSUPP)


def is_own_or_roots(status: os.stat_result, above: os.stat_result) -> bool:
    """Tell whether a file belongs to this user or to root.

    In a user namespace that knows no root, its files show the overflow uid; so do those of
    everybody else that it does not know. That uid counts as root's where nobody but the
    directory's owner could have put the file there, so not in ``/tmp``.

    Args:
        status: The file.
        above: The directory that it is in, which has been looked at.
    """
    if status.st_uid in (0, os.geteuid()):
        return True
    is_shared = above.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return not is_shared and status.st_uid == _uid_that_root_shows()


def _uid_that_root_shows() -> int:
    """Say which uid files of the machine's root show in this user namespace.

    The kernel gives this one to that root, whoever mounted it. The map of uids would not
    tell: it counts by the namespace around, which may be one as well.
    """
    try:
        return os.stat(_OF_ROOT).st_uid
    except OSError:
        return 0


def others(path: str, status: os.stat_result) -> str | None:
    """Name somebody other than owner and root who can write a file.

    Args:
        path: The file, which is no symlink.
        status: What it is.

    Returns:
        Who that is, or None: nobody, or a group that is the owner's alone.

    Raises:
        OSError: Its access control list cannot be read.
    """
    if status.st_mode & stat.S_IWOTH:
        return "everybody"
    # With a list these bits are its mask: without them no entry of it lets anybody write.
    if not status.st_mode & stat.S_IWGRP:
        return None
    may_group, trusted = True, {0, os.geteuid()}
    for tag, may, number in _entries(path):
        if tag == _SOMEBODY and may and number not in trusted:
            return f"uid {number} (by its access control list)"
        if tag == _SOME_GROUP and may:
            return f"group {number} (by its access control list)"
        if tag == _OWN_GROUP:
            may_group = may
    if may_group and not any(_is_own_group(status.st_gid, uid) for uid in trusted):
        return f"the group {status.st_gid}"
    return None


def _entries(path: str) -> list[tuple[int, bool, int]]:
    """List tag, whether it lets write, and number of each entry (linux/posix_acl_xattr.h)."""
    if sys.platform != "linux":
        return []
    try:
        content = os.getxattr(path, _LIST, follow_symlinks=False)
    except OSError as error:
        if error.errno in _NO_LIST:
            return []
        raise
    entries = struct.iter_unpack("<HHI", content[4:])
    return [(tag, bool(rights & 2), number) for tag, rights, number in entries]


def _is_own_group(number: int, uid: int) -> bool:
    """Tell whether a group is one user alone, as many systems make one for each user.

    There files are open to the group by default (umask 002), which means nobody.
    """
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(uid), grp.getgrgid(number)
    except KeyError:
        return False
    is_its_own = user.pw_gid == group.gr_gid and user.pw_name == group.gr_name
    if not is_its_own or not set(group.gr_mem) <= {user.pw_name}:
        return False
    # Root's is the first group of accounts that shut the machine down, on several systems.
    return number == 0 or not _has_others(user.pw_name, number)


def _has_others(name: str, number: int) -> bool:
    """Tell whether a local account has a group as its first one, which no list of members says.

    Not by ``getpwall``: where a directory service has the accounts, it may fetch all of them.
    """
    try:
        with open(_ACCOUNTS, "rb") as lines:
            accounts = [line.split(b":") for line in lines]
    except OSError:
        return False
    group, own = str(number).encode(), os.fsencode(name)
    return any(group in fields[3:4] and fields[0] != own for fields in accounts)
