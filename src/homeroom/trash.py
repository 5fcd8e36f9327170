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
from homeroom.shelter import sheltered


def discard(tree: Path, trash: Path) -> None:
    """Rename a tree into the trash and remove it there.

    Args:
        tree: A directory of ours.
        trash: A directory; made when it is missing.

    Raises:
        StateError: The trash cannot be used.
        StorageError: Something in the tree could not be removed.
    """
    moved = set_aside(tree, trash)
    if moved is not None:
        remove_trees(moved)


def set_aside(tree: Path, trash: Path, *, last: str = "") -> Path | None:
    """Rename a tree into the trash: it is gone from where it could be found, at once and whole.

    Args:
        tree: A directory of ours.
        trash: A directory; made when it is missing. Where it is on another file system,
            the one beside the tree is used.
        last: The name of the file in it that says whose it is. A full disk has no place for
            the trash: then the tree is removed where it is, and this goes last, so that what
            is left after a failure can still be told.

    Returns:
        Where it is to be removed, or None when it is gone.

    Raises:
        StateError: The trash cannot be used.
        StorageError: The tree can be neither moved nor removed.
    """
    beside = tree.parent / "trash"
    try:
        ensure_private_dir(trash)
    except StorageError:
        _remove_in_place(tree, last)
        return None
    gone = trash / f"{tree.name}.{os.urandom(6).hex()}"
    try:
        os.rename(tree, gone)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.EXDEV and trash != beside:
            return set_aside(tree, beside, last=last)
        raise explain(error, tree, "move into the trash") from error
    return gone


def _remove_in_place(tree: Path, last: str) -> None:
    try:
        names = sorted(os.listdir(tree), key=last.__eq__)
    except OSError as error:
        raise explain(error, tree, "look through") from error
    for name in names:
        remove_trees(tree / name)
    remove_trees(tree)


def remove_trees(*trees: Path) -> None:
    """Remove directory trees of any depth without following a symlink out of them.

    ``rm`` does it: it copes with paths longer than PATH_MAX and any depth, where
    ``shutil.rmtree`` of Python before 3.13 ends in a RecursionError. Write-protected
    directories, which an agent may leave, are opened for a second try. What is mounted
    below is left as it is, with the directories that lead there.

    Args:
        trees: The directories; one that is gone already is no error.

    Raises:
        StateError: One cannot be looked at.
        StorageError: Something is still there, with what ``rm`` said about it.
    """
    there = _left(trees)
    if not there:
        return
    try:
        said = _clear(there, _mounts_below(there))
    except OSError as error:
        raise explain(error, there[0], "remove") from error
    if left := _left(there):
        raise StorageError(
            f"cannot remove {left[0]}: {said.splitlines()[0] if said else 'unknown reason'}",
            "remove it as its owner; `homeroom sweep` tries again",
        )


def _left(trees: Iterable[Path]) -> list[Path]:
    return [tree for tree in trees if is_there(tree)]


def _clear(trees: Iterable[Path], mounts: frozenset[Path]) -> str:
    """Remove trees but for what is mounted in them, and give what was said about the rest."""
    said: list[str] = []
    plain: list[Path] = []
    for tree in trees:
        if tree in mounts:
            said.append(f"something is mounted at {tree}: unmount it")
        elif any(mount.is_relative_to(tree) for mount in mounts):
            os.chmod(tree, PRIVATE_DIR)
            said.append(_clear([tree / name for name in os.listdir(tree)], mounts))
        else:
            plain.append(tree)
    said.append(_remove(plain))
    if left := _left(plain):
        _run_tool("chmod", "-R", "u+rwX", "--", *map(str, left))
        said.append(_remove(left))
    return "\n".join(filter(None, said))


def _mounts_below(trees: Iterable[Path]) -> frozenset[Path]:
    """List what is mounted in trees (proc_pid_mountinfo(5)).

    ``rm --one-file-system`` would walk into a directory of its own file system that is
    mounted there.
    """
    if sys.platform != "linux":
        return frozenset()
    roots = tuple(os.fsencode(tree) + b"/" for tree in trees)
    points = [
        line.split(b" ")[4] for line in Path("/proc/self/mountinfo").read_bytes().splitlines()
    ]
    plain = (re.sub(rb"\\([0-7]{3})", lambda one: bytes([int(one[1], 8)]), at) for at in points)
    return frozenset(Path(os.fsdecode(at)) for at in plain if at.startswith(roots))


def _remove(trees: Iterable[Path]) -> str:
    names = [str(tree) for tree in trees]
    if not names:
        return ""
    if sys.platform != "linux":
        return _run_tool("rm", "-rf", "--", *names)
    # Nothing that is mounted below may be emptied. BusyBox has no such option, and says so.
    said = _run_tool("rm", "-rf", "--one-file-system", "--", *names)
    return _run_tool("rm", "-rf", "--", *names) if "nrecognized option" in said else said


def _run_tool(name: str, *arguments: str) -> str:
    program = shutil.which(name, path="/usr/bin:/bin:/run/current-system/sw/bin") or name
    # An impatient Ctrl-C goes to all of the job, and would leave the secrets in the trash.
    with sheltered():
        result = subprocess.run(
            [program, *arguments], check=False, capture_output=True, stdin=subprocess.DEVNULL
        )
    said = result.stderr.decode(errors="replace")
    return said or (f"{name} was ended by a signal" if result.returncode < 0 else "")


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
