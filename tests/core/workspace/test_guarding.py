"""Where an agent may work, and what of a repository becomes writable with it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeroom.errors import WorkspaceError
from homeroom.trash import remove_trees
from homeroom.workspace import OBEYED, Workspace, condition, find
from tests.core.kinds import dig
from tests.core.workspace.scene import (
    PLACES,
    Look,
    commit,
    repository,
    writable,
)
from tests.support.git import git


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.write_bytes(b"\xff" * 70_000)])
def test_a_git_that_is_no_link_is_no_repository(
    look: Look, tmp_path: Path, make: Callable[[Path], object]
) -> None:
    evil = tmp_path / "evil"
    evil.mkdir()
    make(evil / ".git")
    assert set(writable(look(evil))) <= {evil, evil / ".git"}


@given(
    where=st.sampled_from(["home/worktrees/feature", "evil", "evil/a"]),
    claim=PLACES,
    holder=PLACES,
    back=PLACES,
    common=PLACES,
    tree=PLACES,
    prefix=st.sampled_from(["gitdir: ", "gitdir:", "", "GITDIR: "]),
)
def test_no_hostile_work_tree_opens_anything_but_itself(
    world: Path,
    where: str,
    claim: str,
    holder: str,
    back: str,
    common: str,
    tree: str,
    prefix: str,
) -> None:
    top = world / where

    def filled(text: str) -> str:
        return text.format(base=world, top=top)

    places = {
        top / ".git": prefix + filled(claim),
        top / filled(holder) / "gitdir": filled(back),
        top / filled(holder) / "commondir": filled(common),
        top / filled(holder) / "config": f"[core]\n\tworktree = {filled(tree)}\n",
    }
    written = []
    for path, text in places.items():
        # What an agent could write: in its own work tree, over nothing that is there.
        if Path(os.path.realpath(path)).is_relative_to(top) and path.parent.is_dir():
            path.write_text(f"{text}\n")
            written.append(path)
    try:
        found = find(top, [world / "home"], [world / "home/state"])
    finally:
        for path in set(written):
            path.unlink()
    for path in writable(found):
        assert path.is_relative_to(top), f"{path} became writable"


def test_hooks_and_settings_that_others_obey_are_guarded(look: Look, tmp_path: Path) -> None:
    project = repository(tmp_path / "project")
    for name in (".mcp.json", ".bashrc", "sub/.gitmodules", "a/b/.zshrc"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).touch()
    (project / ".vscode").mkdir()
    nested = repository(project / "vendor")
    guarded = set(look(project).guarded())
    assert guarded >= {
        project / ".git/config",
        project / ".git/hooks",
        project / ".mcp.json",
        project / ".bashrc",
        project / ".vscode",
        project / "sub/.gitmodules",
        project / "a/b/.zshrc",
        nested / ".git/config",
        nested / ".git/hooks",
    }
    assert all(path.exists() for path in guarded)


def test_what_leads_git_to_a_worktrees_repository_is_guarded(look: Look, tmp_path: Path) -> None:
    """Git takes configuration, and so programs, from wherever these files lead it."""
    main = repository(tmp_path / "main")
    commit(main)
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"))
    own = main / ".git/worktrees/tree"
    assert set(look(tmp_path / "tree").guarded()) >= {
        tmp_path / "tree/.git",
        main / ".git/config",
        main / ".git/hooks",
        own / "commondir",
        own / "gitdir",
    }


def test_a_commondir_that_an_agent_could_add_is_guarded_or_told(look: Look, tmp_path: Path) -> None:
    project = repository(tmp_path / "project")
    commondir = project / ".git/commondir"
    assert commondir in look(project).open_to_change()
    commondir.write_text(".\n")
    assert commondir in look(project).guarded()


def test_the_repositories_of_submodules_are_guarded(look: Look, tmp_path: Path) -> None:
    part, main = repository(tmp_path / "part"), repository(tmp_path / "main")
    commit(part)
    allow = ("-c", "protocol.file.allow=always")
    for name in ("libs/part", "node_modules/part"):
        git(main, *allow, "submodule", "--quiet", "add", "-f", str(part), name)
    for name in ("libs/part", "node_modules/part"):
        modules = main / ".git/modules" / name
        assert {modules / "config", modules / "hooks"} <= set(look(main).guarded())
    # It says which repository git takes for the submodule's, whose programs it then runs.
    assert main / "libs/part/.git" in look(main).guarded()


def test_repositories_below_are_named(look: Look, tmp_path: Path) -> None:
    main = repository(tmp_path / "main")
    assert look(main).repositories() == frozenset()
    repository(main / "nested")
    repository(main / "a" / "deeper")
    found = {main / "nested/.git", main / "a/deeper/.git"}
    assert look(main).repositories() == found


def test_too_many_submodules_are_refused(look: Look, tmp_path: Path) -> None:
    project = repository(tmp_path / "project")
    for number in range(201):
        (project / f".git/modules/{number}").mkdir(parents=True)
        (project / f".git/modules/{number}/HEAD").touch()
    with pytest.raises(WorkspaceError, match="more than 200 submodules"):
        look(project).guarded()


def test_a_repository_of_any_depth_is_looked_through(look: Look, tmp_path: Path) -> None:
    project = repository(tmp_path / "project")
    (project / ".git/modules").mkdir()
    dig(project / ".git/modules", 1200)
    try:
        assert project / ".git/config" in look(project).guarded()
    finally:
        remove_trees(project / ".git")


def test_what_is_missing_is_named_so_that_its_making_can_be_seen(
    look: Look, tmp_path: Path
) -> None:
    project = repository(tmp_path / "project")
    (project / ".bashrc").touch()
    missing = look(project).open_to_change()
    assert set(missing) >= {project / name for name in OBEYED if name != ".bashrc"}
    assert project / ".bashrc" not in missing
    assert set(missing.values()) == {None}


def test_a_link_to_nothing_is_not_guarded_since_that_would_make_something(
    look: Look, tmp_path: Path
) -> None:
    project = repository(tmp_path / "project")
    links = {".mcp.json": "missing", ".vscode": "no/such/place", ".idea": ".idea"}
    for name, target in links.items():
        (project / name).symlink_to(target)
    found = look(project)
    assert not {project / name for name in links} & set(found.guarded())
    seen = found.open_to_change()
    assert {name: seen[project / name] for name in links} == {
        name: f"{target} (missing)" for name, target in links.items()
    }


def test_a_link_is_guarded_and_seen_to_be_replaced_or_to_lead_elsewhere(
    look: Look, tmp_path: Path
) -> None:
    project = repository(tmp_path / "project")
    (project / "real.json").touch()
    link = project / ".mcp.json"
    link.symlink_to("real.json")
    assert link in look(project).guarded()
    before = look(project).open_to_change()[link]
    assert condition(link) == before
    (project / "real.json").unlink()
    assert condition(link) != before
    link.unlink()
    assert condition(link) is None
    link.touch()
    assert condition(link) not in (None, before)


def test_what_is_guarded_and_no_link_is_not_open_to_change(look: Look, tmp_path: Path) -> None:
    project = repository(tmp_path / "project")
    (project / ".mcp.json").touch()
    found = look(project)
    assert not set(found.guarded()) & set(found.open_to_change())


def test_what_cannot_be_looked_into_hinders_no_run(look: Look, tmp_path: Path) -> None:
    """/proc is the same for root: descriptors of others there are shut to everybody."""
    shut = tmp_path / "project" / "shut"
    shut.mkdir(parents=True)
    shut.chmod(0)
    try:
        assert look(tmp_path / "project").guarded() == ()
        assert look(tmp_path / "project").repositories() == frozenset()
    finally:
        shut.chmod(0o700)
    Workspace(Path("/proc"), Path("/proc")).guarded()
