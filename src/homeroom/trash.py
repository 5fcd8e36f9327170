"""Removing trees: out of the way at once, then gone, whatever they hold."""

import errno
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from homeroom.errors import StorageError
from homeroom.files import PRIVATE_DIR, check_private_dir, ensure_private_dir, explain, is_there


def discard(tree: Path, trash: Path, *, last: str = "") -> None:
    """Rename a tree into the trash and remove it there.

    Args:
        tree: A directory of ours.
        trash: A directory; made when it is missing. Where it is on another file system,
            the one beside the tree is used.
        last: The name of the file in it that says whose it is. Where nothing can be renamed
            it goes last, so that what is left after a failure can still be told.

    Raises:
        StateError: The trash cannot be used.
        StorageError: Something in the tree could not be removed.
    """
    beside = tree.parent / "trash"
    try:
        ensure_private_dir(trash)
    except StorageError:
        # A full disk has no place for the trash: then not at once, but gone all the same.
        _remove_in_place(tree, last)
        return
    gone = trash / f"{tree.name}.{os.urandom(6).hex()}"
    try:
        os.rename(tree, gone)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno == errno.EXDEV and trash != beside:
            discard(tree, beside, last=last)
            return
        raise explain(error, tree, "move into the trash") from error
    remove_tree(gone)


def _remove_in_place(tree: Path, last: str) -> None:
    try:
        names = sorted(os.listdir(tree), key=last.__eq__)
    except OSError as error:
        raise explain(error, tree, "look through") from error
    for name in names:
        remove_tree(tree / name)
    remove_tree(tree)


def remove_tree(tree: Path) -> None:
    """Remove a directory tree of any depth without following a symlink out of it.

    ``rm`` does it: it copes with paths longer than PATH_MAX and any depth, where
    ``shutil.rmtree`` of Python before 3.13 ends in a RecursionError. Write-protected
    directories, which an agent may leave, are opened for a second try. What is mounted
    below is left as it is, with the directories that lead there.

    Args:
        tree: The directory.

    Raises:
        StorageError: Something is still there, with what ``rm`` said about it.
    """
    try:
        said = _clear(tree, _mounts_below(tree))
    except OSError as error:
        raise explain(error, tree, "remove") from error
    if is_there(tree):
        raise StorageError(
            f"cannot remove {tree}: {said.splitlines()[0] if said else 'unknown reason'}",
            "remove it as its owner; `homeroom sweep` tries again",
        )


def _clear(tree: Path, mounts: frozenset[Path]) -> str:
    """Remove a tree but for what is mounted in it, and give what was said about the rest."""
    if tree in mounts:
        return f"something is mounted at {tree}: unmount it"
    if not any(mount.is_relative_to(tree) for mount in mounts):
        said = _remove(tree)
        if is_there(tree):
            _run_tool("chmod", "-R", "u+rwX", "--", str(tree))
            said = _remove(tree)
        return said
    os.chmod(tree, PRIVATE_DIR)
    return "\n".join(filter(None, (_clear(tree / name, mounts) for name in os.listdir(tree))))


def _mounts_below(tree: Path) -> frozenset[Path]:
    """List what is mounted in a tree (proc_pid_mountinfo(5)).

    ``rm --one-file-system`` would walk into a directory of its own file system that is
    mounted there.
    """
    if sys.platform != "linux":
        return frozenset()
    raw = os.fsencode(tree) + b"/"
    points = [
        line.split(b" ")[4] for line in Path("/proc/self/mountinfo").read_bytes().splitlines()
    ]
    plain = (re.sub(rb"\\([0-7]{3})", lambda one: bytes([int(one[1], 8)]), at) for at in points)
    return frozenset(Path(os.fsdecode(at)) for at in plain if at.startswith(raw))


def _remove(tree: Path) -> str:
    if sys.platform != "linux":
        return _run_tool("rm", "-rf", "--", str(tree))
    # Nothing that is mounted below may be emptied. BusyBox has no such option, and says so.
    said = _run_tool("rm", "-rf", "--one-file-system", "--", str(tree))
    return _run_tool("rm", "-rf", "--", str(tree)) if "nrecognized option" in said else said


def _run_tool(name: str, *arguments: str) -> str:
    program = shutil.which(name, path="/usr/bin:/bin:/run/current-system/sw/bin") or name
    result = subprocess.run(
        [program, *arguments], check=False, capture_output=True, stdin=subprocess.DEVNULL
    )
    return result.stderr.decode(errors="replace")


def leftovers(trash_directories: Iterable[Path]) -> list[Path]:
    """List what earlier removals could not finish.

    Raises:
        StateError: A trash directory, or the one it is in, is a symlink, someone else's or
            open to others: what is named there need not be ours to remove.
        OSError: It cannot be looked at.
    """
    found: list[Path] = []
    for trash in trash_directories:
        if not is_there(trash):
            continue
        for directory in (trash.parent, trash):
            check_private_dir(directory)
        found += [trash / name for name in sorted(os.listdir(trash))]
    return found
