"""Where an agent may work, and what of a repository becomes writable with it."""

import os
from pathlib import Path

import pytest

from homeroom.errors import WorkspaceError
from homeroom.workspace import Workspace, find
from tests.core.workspace.scene import (
    NAMES,
    Look,
    commit,
    forged,
    link,
    refusal,
    repository,
    writable,
)
from tests.support.git import git
from tests.support.tree import snapshot


def test_looking_changes_nothing(look: Look, tmp_path: Path) -> None:
    project = repository(tmp_path / "project")
    before = snapshot(tmp_path)
    look(project).guarded()
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", NAMES)
def test_any_name_of_a_directory_will_do(look: Look, tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    assert look(tmp_path / name) == Workspace(
        tmp_path / name, tmp_path / name, (), (tmp_path / name,)
    )


def test_a_name_that_is_no_utf8_is_refused(look: Look, tmp_path: Path) -> None:
    directory = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    directory.mkdir()
    assert "not valid UTF-8" in refusal(look, directory)


def test_a_directory_that_does_not_exist_is_refused(look: Look, tmp_path: Path) -> None:
    assert "No such file" in refusal(look, tmp_path / "nothing")
    (tmp_path / "link").symlink_to("nothing")
    assert "No such file" in refusal(look, tmp_path / "link")
    (tmp_path / "loop").symlink_to("loop")
    assert "symbolic links" in refusal(look, tmp_path / "loop")
    assert "null" in refusal(look, tmp_path / "a\0b")
    assert "too long" in refusal(look, tmp_path / ("x" * 300))


def test_a_file_is_refused(look: Look, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "not a directory" in refusal(look, tmp_path / "file")
    assert "Not a directory" in refusal(look, tmp_path / "file" / "below")


def test_the_whole_machine_is_refused(look: Look) -> None:
    assert "the whole machine" in refusal(look, Path("/"))
    assert "the whole machine" in refusal(look, Path("/tmp/.."))


def test_the_home_and_what_holds_it_are_refused(look: Look, home: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("home")
    assert "your home directory is in it" in refusal(look, tmp_path)
    for directory in (home, tmp_path / "link"):
        assert "it is your home directory" in refusal(look, directory)


def test_a_home_behind_a_symlink_is_a_home(tmp_path: Path, home: Path) -> None:
    (tmp_path / "link").symlink_to("home")
    with pytest.raises(WorkspaceError, match="your home directory"):
        find(home, [tmp_path / "link"], [])
    (home / "project").mkdir()
    assert find(home / "project", [tmp_path / "link"], []).root == home / "project"


def test_homerooms_own_directories_are_refused(look: Look, private: Path) -> None:
    (private / "below").mkdir()
    for directory in (private, private / "below"):
        assert "no run may touch" in refusal(look, directory)


def test_a_directory_that_holds_homerooms_own_is_refused(tmp_path: Path) -> None:
    (tmp_path / "project" / "state").mkdir(parents=True)
    with pytest.raises(WorkspaceError, match="no run may touch"):
        find(tmp_path / "project", [], [tmp_path / "project/state"])


def test_a_repository_that_holds_homerooms_own_is_refused_from_below(tmp_path: Path) -> None:
    """The whole work tree becomes writable, whichever part of it the run starts in."""
    project = repository(tmp_path / "project")
    for name in ("state", "src"):
        (project / name).mkdir()
    with pytest.raises(WorkspaceError, match="no run may touch"):
        find(project / "src", [], [project / "state"])


def test_a_private_directory_behind_a_symlink_is_private(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(WorkspaceError, match="no run may touch"):
        find(tmp_path / "real", [], [tmp_path / "link"])


def test_in_a_repository_its_whole_work_tree_is_the_workspace(look: Look, tmp_path: Path) -> None:
    project = repository(tmp_path / "project")
    (project / "a/b").mkdir(parents=True)
    (tmp_path / "link").symlink_to("project/a/b")
    found = look(tmp_path / "link")
    assert found.directory == project / "a/b"
    assert found.root == project
    assert found.git_directories == (project / ".git",)
    assert found.trust_roots == (project / "a/b", project)


def test_a_repository_that_is_the_home_itself_stays_closed(look: Look, home: Path) -> None:
    """Some keep their dotfiles so; a run below must not get the home for it."""
    repository(home)
    (home / "project").mkdir()
    assert writable(look(home / "project")) == (home / "project",)


def test_a_worktree_brings_its_repository_along(look: Look, tmp_path: Path) -> None:
    main = repository(tmp_path / "main")
    commit(main)
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"))
    found = look(tmp_path / "tree")
    assert found.git_directories == (tmp_path / "tree/.git", main / ".git")
    assert found.trust_roots == (tmp_path / "tree", main)


def test_a_worktree_of_a_bare_repository_around_it_is_one(look: Look, tmp_path: Path) -> None:
    commit(repository(tmp_path / "main"))
    project = tmp_path / "project"
    git(tmp_path, "clone", "-q", "--bare", "main", str(project))
    git(project, "worktree", "add", "-q", "--detach", str(project / "feature"))
    found = look(project / "feature")
    assert found.git_directories == (project / "feature/.git", project)


def test_a_submodule_brings_its_own_repository_along_and_no_more(
    look: Look, tmp_path: Path
) -> None:
    part, main = repository(tmp_path / "part"), repository(tmp_path / "main")
    commit(part)
    allow = ("-c", "protocol.file.allow=always")
    git(main, *allow, "submodule", "--quiet", "add", str(part), "libs/part")
    found = look(main / "libs/part")
    assert found.root == main / "libs/part"
    assert found.git_directories == (main / "libs/part/.git", main / ".git/modules/libs/part")


@pytest.mark.parametrize(
    "target",
    ["..", "../home", "../home/.ssh", "/", "/etc", ".", "../main/.git", "../main/.git/worktrees/x"],
)
def test_a_claim_that_nothing_confirms_opens_nothing(
    look: Look, tmp_path: Path, home: Path, target: str
) -> None:
    main = repository(tmp_path / "main")
    commit(main)
    git(main, "worktree", "add", "-q", "--detach", str(tmp_path / "x"))
    (home / ".ssh").mkdir()
    evil = link(tmp_path / "evil", f"gitdir: {target}\n")
    assert set(writable(look(evil))) <= {evil, evil / ".git"}


@pytest.mark.parametrize("base", ["home", "srv"])
@pytest.mark.parametrize("inner", [".", "sub", "a/b"])
@pytest.mark.parametrize("common", ["..", "../..", "../../..", "../../../..", "/"])
def test_a_forged_worktree_below_a_directory_of_that_name_opens_nothing_above(
    look: Look, tmp_path: Path, base: str, inner: str, common: str
) -> None:
    """An agent can write .git in a directory that is no repository, for the next run."""
    top = tmp_path / base / "worktrees" / "feature"
    forged(top, top / inner, common)
    assert all(path.is_relative_to(top) for path in writable(look(top)))


def test_not_even_a_confirmed_repository_opens_a_private_directory(tmp_path: Path) -> None:
    main = repository(tmp_path / "main")
    commit(main)
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert find(tmp_path / "tree", [], [main]).git_directories == ()
    assert find(tmp_path / "tree", [main / ".git"], []).git_directories == ()


def test_a_symlink_in_place_of_the_repository_opens_nothing(look: Look, tmp_path: Path) -> None:
    repository(tmp_path / "main")
    evil = tmp_path / "evil"
    evil.mkdir()
    (evil / ".git").symlink_to("../main/.git")
    assert writable(look(evil)) == (evil,)


# A build sandbox has not all of them.
SYSTEMS = [path for path in ("/usr", "/etc", "/usr/bin", "/proc", "/var") if os.path.isdir(path)]


@pytest.mark.parametrize("path", SYSTEMS)
def test_a_directory_of_the_systems_is_no_place_to_work_in(path: str, tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="it is a directory of the system's"):
        find(Path(path), [tmp_path / "home"], [])


def test_where_keys_are_is_no_place_to_work_in(tmp_path: Path) -> None:
    (tmp_path / "home" / ".ssh" / "sub").mkdir(parents=True)
    with pytest.raises(WorkspaceError, match="keys are in"):
        find(tmp_path / "home" / ".ssh" / "sub", [tmp_path / "home"], [])
