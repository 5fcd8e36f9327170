"""Things that can stand where a file or a tree is expected."""

import os
import socket
from collections.abc import Callable
from pathlib import Path


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def _denied_by_its_parent(path: Path) -> None:
    # Unreadable for root as well: what is above it is no directory.
    path.parent.rmdir()
    path.parent.write_bytes(b"")


NOT_A_FILE: dict[str, Callable[[Path], object]] = {
    "a directory": os.mkdir,
    "a FIFO": os.mkfifo,
    "a socket": _socket,
    "a dangling symlink": lambda path: path.symlink_to("nowhere"),
    "a symlink to itself": lambda path: path.symlink_to(path.name),
    "a symlink to a device": lambda path: path.symlink_to("/dev/zero"),
    "a file in a file": _denied_by_its_parent,
}


def dig(directory: Path, depth: int) -> None:
    """Make directories one within another, further down than a path can name."""
    current = os.open(directory, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=current)
        below = os.open("d", os.O_RDONLY, dir_fd=current)
        os.close(current)
        current = below
    os.close(current)
