"""Trees of files, compared to the last byte, mode and nanosecond; and removed."""

import hashlib
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Entry(NamedTuple):
    """All of a file that a run could have changed."""

    kind: str
    mode: int
    mtime_ns: int
    size: int
    sha256: str
    uid: int


Snapshot = dict[str, Entry]

_KINDS = {
    stat.S_IFBLK: "block device",
    stat.S_IFCHR: "character device",
    stat.S_IFDIR: "directory",
    stat.S_IFIFO: "fifo",
    stat.S_IFLNK: "symlink",
    stat.S_IFREG: "file",
    stat.S_IFSOCK: "socket",
}


def snapshot(path: Path, *, contents: bool = True) -> Snapshot:
    """Record a tree, following no symlink.

    Args:
        path: The tree's root; it need not exist.
        contents: Whether files are read; without it, a large tree takes a moment only.

    Returns:
        An entry for each path below the root, named relative to it, and "." for itself;
        empty if nothing is there. Two snapshots are equal exactly when nothing changed.
    """
    if not os.path.lexists(path):
        return {}
    found = {".": _entry(path, contents=contents)}
    if found["."].kind != "directory":
        return found
    for parent, directories, files in os.walk(path, onerror=_fail):
        for name in (*directories, *files):
            child = Path(parent, name)
            found[str(child.relative_to(path))] = _entry(child, contents=contents)
    return found


def changes(before: Snapshot, after: Snapshot) -> list[str]:
    """Put the difference of two snapshots into words, for an assertion's message."""
    lines = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old is None:
            lines.append(f"{name}: new, {new}")
        elif new is None:
            lines.append(f"{name}: gone, was {old}")
        elif old != new:
            fields = (
                f"{field} {was!r} -> {now!r}"
                for field, was, now in zip(Entry._fields, old, new, strict=True)
                if was != now
            )
            lines.append(f"{name}: {', '.join(fields)}")
    return lines


def remove_tree(path: Path) -> None:
    """Remove a tree whatever the modes in it, as a test may leave it write-protected."""

    def open_up(function: Callable[[str], object], name: str, _error: object) -> None:
        os.chmod(os.path.dirname(name), stat.S_IRWXU)
        if not os.path.islink(name):
            os.chmod(name, stat.S_IRWXU)
        if function in (os.open, os.scandir, os.listdir):
            shutil.rmtree(name, onerror=open_up)
        else:
            function(name)

    shutil.rmtree(path, onerror=open_up)


def _entry(path: Path, *, contents: bool) -> Entry:
    status = os.lstat(path)
    kind = _KINDS[stat.S_IFMT(status.st_mode)]
    content = b""
    if kind == "file" and contents:
        content = path.read_bytes()
    elif kind == "symlink":
        content = os.fsencode(os.readlink(path))
    return Entry(
        kind=kind,
        mode=stat.S_IMODE(status.st_mode),
        mtime_ns=status.st_mtime_ns,
        # A directory's size is the file system's own affair.
        size=0 if kind == "directory" else status.st_size,
        sha256=hashlib.sha256(content).hexdigest() if content else "",
        uid=status.st_uid,
    )


def _fail(error: OSError) -> None:
    raise error
