"""What a piece of code does to files, seen by Python's audit events while it does it."""

import os
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

# Before each of these the tree is looked at, so that no state between two is missed.
_ACTS = frozenset(
    {"open", "os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir"}
    | {"os.symlink", "os.truncate", "os.utime"}
)
_LOOKS = frozenset({"open", "os.listdir", "os.scandir"})
# An audit hook cannot be removed again: there is one, which does nothing without a watch.
_watches: "list[Watch]" = []
_hooked = threading.Event()


class Watch(msgspec.Struct, eq=False):
    """What one thread did to files.

    Attributes:
        tree: Everything in it must be private at every moment.
        thread: Whose acts count.
        touched: The paths that it opened or listed, absolute.
        faults: What was not private, or changed its mode later, in words.
    """

    tree: Path
    thread: int
    touched: list[Path] = []
    faults: list[str] = []

    def touched_below(self, directory: Path) -> list[Path]:
        """List what was opened or listed below a directory."""
        return [path for path in self.touched if path.is_relative_to(directory)]

    def see(self, event: str, arguments: tuple[object, ...]) -> None:
        """Take note of one audit event, which is about to happen."""
        if event in ("os.chmod", "os.chown"):
            self.faults.append(f"{event} of {arguments[0]!r}: not private from the first moment")
        path = arguments[0] if arguments else None
        if event in _LOOKS and isinstance(path, str | bytes | os.PathLike):
            self.touched.append(Path(os.path.abspath(os.fsdecode(path))))
        if event in _ACTS:
            self.look()

    def look(self) -> None:
        """Note everything in the tree that others can read at this moment."""
        for parent, directories, files in os.walk(self.tree):
            for name in (*directories, *files):
                path = os.path.join(parent, name)
                mode = os.lstat(path).st_mode
                wanted = 0o700 if stat.S_ISDIR(mode) else 0o600
                if stat.S_IMODE(mode) != wanted and not stat.S_ISLNK(mode):
                    self.faults.append(f"{path} has mode {stat.S_IMODE(mode):04o}")


@contextmanager
def watched(tree: Path) -> Iterator[Watch]:
    """Watch what this thread does to files for the time of a block.

    Args:
        tree: Where everything must be 0600, directories 0700, at every moment.

    Yields:
        What is seen; it fills while the block runs.
    """
    if not _hooked.is_set():
        sys.addaudithook(_hook)
        _hooked.set()
    watch = Watch(tree, threading.get_ident())
    _watches.append(watch)
    try:
        yield watch
    finally:
        _watches.remove(watch)
    watch.look()


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if not _watches or (event not in _ACTS and event not in _LOOKS):
        return
    watch = _watches[-1]
    if watch.thread != threading.get_ident():
        return
    # Looking raises events as well, which must not be looked at.
    _watches.remove(watch)
    try:
        watch.see(event, arguments)
    finally:
        _watches.append(watch)


@contextmanager
def open_umask() -> Iterator[None]:
    """Let every mode that is asked for hold, for the time of a block."""
    before = os.umask(0)
    try:
        yield
    finally:
        os.umask(before)
