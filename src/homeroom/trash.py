"""Removing trees: out of the way at once, then gone, whatever they hold."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from homeroom.errors import StorageError
from homeroom.files import check_private_dir, ensure_private_dir, explain


def discard(tree: Path, trash: Path) -> None:
    """Rename a tree into the trash and remove it there.

    Args:
        tree: A directory of ours.
        trash: A directory on the same file system; made when it is missing.

    Raises:
        StateError: The trash cannot be used.
        StorageError: Something in the tree could not be removed.
    """
    moved = set_aside(tree, trash)
    if moved is not None:
        remove_trees(moved)


def set_aside(tree: Path, trash: Path) -> Path | None:
    """Rename a tree into the trash: it is gone from where it could be found, at once and whole.

    Args:
        tree: A directory of ours.
        trash: A directory on the same file system; made when it is missing.

    Returns:
        Where it is to be removed: where it was when a full disk has no place for the trash,
        and None when there is none.

    Raises:
        StateError: The trash cannot be used.
        StorageError: It cannot be moved.
    """
    try:
        ensure_private_dir(trash)
    except StorageError:
        return tree
    gone = trash / f"{tree.name}.{os.urandom(6).hex()}"
    try:
        os.rename(tree, gone)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise explain(error, tree, "move into the trash") from error
    return gone


def remove_trees(*trees: Path) -> None:
    """Remove directory trees of any depth without following a symlink out of them.

    ``rm`` does it: it copes with paths longer than PATH_MAX and any depth, where
    ``shutil.rmtree`` of Python before 3.13 ends in a RecursionError. Write-protected
    directories, which an agent may leave, are opened for a second try.

    Args:
        trees: The directories; one that is gone already is no error.

    Raises:
        StorageError: Something is still there, with what ``rm`` said about it.
    """
    said = _remove(trees)
    if left := _left(trees):
        _run_tool("chmod", "-R", "u+rwX", "--", *map(str, left))
        said = _remove(left)
    if left := _left(trees):
        raise StorageError(
            f"cannot remove {left[0]}: {said.splitlines()[0] if said else 'unknown reason'}",
            "remove it as its owner; `homeroom sweep` tries again",
        )


def _left(trees: Iterable[Path]) -> list[Path]:
    return [tree for tree in trees if os.path.lexists(tree)]


def _remove(trees: Iterable[Path]) -> str:
    names = [str(tree) for tree in _left(trees)]
    if not names:
        return ""
    if sys.platform != "linux":
        return _run_tool("rm", "-rf", "--", *names)
    # Nothing that is mounted below may be emptied. BusyBox has no such option, and says so.
    said = _run_tool("rm", "-rf", "--one-file-system", "--", *names)
    return _run_tool("rm", "-rf", "--", *names) if "nrecognized option" in said else said


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
        if not os.path.lexists(trash):
            continue
        for directory in (trash.parent, trash):
            check_private_dir(directory)
        found += [trash / name for name in sorted(os.listdir(trash))]
    return found
