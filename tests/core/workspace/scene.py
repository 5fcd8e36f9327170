"""What the tests of workspace share."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import strategies as st

from homeroom.errors import WorkspaceError
from homeroom.workspace import Workspace
from tests.support.git import git

NAMES = ["with space", "quo'te\"s", "new\nline", "$HOME", "äöü-日本", "-rf", "x" * 200]


Look = Callable[[Path], Workspace]


def repository(directory: Path, *arguments: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    git(directory, "init", "-q", "-b", "main", *arguments)
    return directory


def commit(directory: Path) -> None:
    author = ("-c", "user.name=Test", "-c", "user.email=test@example.invalid")
    git(directory, *author, "commit", "-q", "--allow-empty", "-m", "start")


def writable(place: Workspace) -> tuple[Path, ...]:
    return (place.root, *place.git_directories)


def refusal(look: Look, directory: Path) -> str:
    with pytest.raises(WorkspaceError) as told:
        look(directory)
    assert told.value.exit_code == 66
    assert told.value.hint
    return told.value.message


def link(top: Path, text: str) -> Path:
    """Make a directory whose .git claims that its repository is elsewhere."""
    top.mkdir(parents=True, exist_ok=True)
    (top / ".git").write_text(text)
    return top


def forged(top: Path, git_dir: Path, common: str) -> None:
    """Make a git directory that confirms the claim of the work tree it lies in."""
    link(top, f"gitdir: {os.path.relpath(git_dir, top)}\n")
    git_dir.mkdir(parents=True, exist_ok=True)
    (git_dir / "gitdir").write_text(f"{top}/.git\n")
    (git_dir / "commondir").write_text(f"{common}\n")


PLACES = st.sampled_from(
    [
        *("", ".", "..", "../..", "../../..", "a", "a/worktrees/b", ".git", "/"),
        *("{base}", "{base}/home", "{base}/home/.ssh", "{base}/home/state", "{base}/main"),
        *("{base}/main/.git", "{base}/main/.git/worktrees/tree", "{top}", "{top}/.git"),
        *("{base}/evil", "{base}/evil/a", "{base}/home/worktrees"),
    ]
)
