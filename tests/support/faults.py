"""Lets one file operation of homeroom fail, whichever it is, inside of this process."""

import errno
import fcntl
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

ERRORS = ("ENOSPC", "EACCES", "EINTR", "EIO", "EROFS")
# Each takes a path first, or what /proc can name: a descriptor.
_OPERATIONS = (
    *("open", "fdopen", "mkdir", "unlink", "rmdir", "rename", "replace", "utime"),
    *("stat", "lstat", "listdir", "scandir"),
)


@dataclass
class Fault:
    """What is to fail, and whether it has.

    Attributes:
        root: Only operations below it count.
        number: Which of them fails, the first being 1.
        error: How, as ``errno`` names it.
        seen: The operations so far.
    """

    root: Path
    number: int
    error: str
    seen: list[str] = field(default_factory=list)

    @property
    def happened(self) -> bool:
        return len(self.seen) >= self.number

    @property
    def words(self) -> str:
        return os.strerror(getattr(errno, self.error))

    def count(self, operation: str, path: Any) -> None:
        if isinstance(path, int):
            path = os.readlink(f"/proc/self/fd/{path}")
        if not os.fsdecode(path).startswith(str(self.root)):
            return
        self.seen.append(f"{operation} {os.fsdecode(path)}")
        if len(self.seen) == self.number:
            raise OSError(getattr(errno, self.error), self.words, os.fsdecode(path))


@contextmanager
def failing(fault: Fault) -> Iterator[None]:
    """Let it fail, as long as this lasts."""
    real_run: Any = subprocess.run
    patches = [patch.object(os, name, _counted(fault, os, name)) for name in _OPERATIONS]
    patches.append(patch.object(fcntl, "flock", _counted(fault, fcntl, "flock")))

    def run(argv: list[str], *arguments: Any, **more: Any) -> Any:
        # A program that cannot be started: the last argument is what it works on.
        fault.count(os.path.basename(argv[0]), argv[-1])
        return real_run(argv, *arguments, **more)

    patches.append(patch.object(subprocess, "run", run))
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in patches:
            one.stop()


def _counted(fault: Fault, owner: Any, name: str) -> Any:
    real = getattr(owner, name)

    def called(path: Any = ".", *arguments: Any, **more: Any) -> Any:
        if more.get("dir_fd") is None and isinstance(path, int | str | bytes | os.PathLike):
            fault.count(name, path)
        return real(path, *arguments, **more)

    return called
