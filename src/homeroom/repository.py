"""Where git keeps a work tree's repository, as far as the work tree can be believed."""

import os
import re
import stat
from pathlib import Path

from homeroom.errors import StorageError
from homeroom.files import read_regular

_LINK_LIMIT = 64 * 1024


def directories_of(top: Path) -> tuple[Path, ...]:
    """Resolve ``.git``; a link counts only if what it names points back at this tree.

    A hostile work tree could otherwise name any directory of the user's and have it
    made writable.

    Args:
        top: The top of a work tree.

    Returns:
        The repository. For a worktree or a submodule the link, and what it leads to; none
        where that cannot be trusted.
    """
    dot_git = top / ".git"
    mode = os.lstat(dot_git).st_mode
    if stat.S_ISDIR(mode):
        return (dot_git,)
    if not stat.S_ISREG(mode):
        return ()
    target = read_link(dot_git, "gitdir: ")
    if target is None:
        return ()
    git_dir = Path(os.path.realpath(top / target))
    if _points_back(git_dir, dot_git):
        # Not what "commondir" says: in a work tree below any directory named "worktrees" it
        # could name what is above that, the home for one.
        common_dir = git_dir.parent.parent
        common = read_link(git_dir / "commondir", "")
        is_common = common and os.path.realpath(git_dir / common) == str(common_dir)
        if git_dir.parent.name != "worktrees" or not is_common or not _is_repository(common_dir):
            return ()
        return (dot_git, common_dir)
    return (dot_git, git_dir) if _is_submodule_of(git_dir, top) else ()


def _is_repository(directory: Path) -> bool:
    # As git itself decides (setup.c, is_git_directory).
    return all(os.path.lexists(directory / name) for name in ("HEAD", "objects", "refs"))


def _points_back(git_dir: Path, dot_git: Path) -> bool:
    # gitrepository-layout(5): worktrees/<id>/gitdir holds the path of the worktree's .git.
    back = read_link(git_dir / "gitdir", "")
    return back is not None and os.path.realpath(git_dir / back) == str(dot_git)


def _is_submodule_of(git_dir: Path, top: Path) -> bool:
    # git-submodule(1): the module's own configuration names its work tree.
    try:
        text = read_regular(git_dir / "config", _LINK_LIMIT).decode(errors="replace")
    except (OSError, StorageError):
        return False
    match = re.search(r"^\s*worktree\s*=\s*(.+?)\s*$", text, re.MULTILINE)
    if match is None:
        return False
    return os.path.realpath(git_dir / match[1].strip('"')) == str(top)


def main_tree(git_directory: Path) -> Path | None:
    """Tell the work tree that a repository is in, or None for a bare one."""
    return git_directory.parent if git_directory.name == ".git" else None


def read_link(path: Path, prefix: str) -> str | None:
    """Read a file of git's that holds a path.

    Args:
        path: The file.
        prefix: What stands before the path in it.

    Returns:
        The path as it stands there, or None when the file is not like that.
    """
    try:
        text = os.fsdecode(read_regular(path, _LINK_LIMIT))
    except (OSError, StorageError):
        return None
    text = text.removesuffix("\n")
    return text.removeprefix(prefix) if text.startswith(prefix) and "\0" not in text else None
