"""Fixtures of the tests of workspace."""

from collections.abc import Callable
from pathlib import Path

import pytest

from homeroom.workspace import Workspace, find
from tests.core.workspace.scene import (
    commit,
    repository,
)
from tests.support.git import git


@pytest.fixture
def home(tmp_path: Path) -> Path:
    directory = tmp_path / "home"
    directory.mkdir()
    return directory


@pytest.fixture
def private(tmp_path: Path) -> Path:
    directory = tmp_path / "home" / "state"
    directory.mkdir(parents=True)
    return directory


@pytest.fixture
def look(home: Path, private: Path) -> Callable[[Path], Workspace]:
    return lambda directory: find(directory, [home], [private])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home, a repository with a worktree, and directories for hostile ones."""
    base = tmp_path_factory.mktemp("world")
    for name in ("home/worktrees/feature/a/worktrees/b", "home/.ssh", "home/state", "evil/a"):
        (base / name).mkdir(parents=True)
    commit(repository(base / "main"))
    git(base / "main", "worktree", "add", "-q", str(base / "tree"))
    return base
