"""Where an agent may work, and what of a repository becomes writable with it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeroom.errors import WorkspaceError
from homeroom.trash import remove_tree
from homeroom.workspace import OBEYED, Workspace, find
from tests.core.kinds import dig
from tests.support.git import git
from tests.support.tree import snapshot

NAMES = ["with space", "quo'te\"s", "new\nline", "$HOME", "äöü-日本", "-rf", "x" * 200]


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
    for directory in (home, tmp_path, tmp_path / "link"):
        assert "your home directory is in it" in refusal(look, directory)


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


def link(top: Path, text: str) -> Path:
    """Make a directory whose .git claims that its repository is elsewhere."""
    top.mkdir(parents=True, exist_ok=True)
    (top / ".git").write_text(text)
    return top


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


def forged(top: Path, git_dir: Path, common: str) -> None:
    """Make a git directory that confirms the claim of the work tree it lies in."""
    link(top, f"gitdir: {os.path.relpath(git_dir, top)}\n")
    git_dir.mkdir(parents=True, exist_ok=True)
    (git_dir / "gitdir").write_text(f"{top}/.git\n")
    (git_dir / "commondir").write_text(f"{common}\n")


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


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.write_bytes(b"\xff" * 70_000)])
def test_a_git_that_is_no_link_is_no_repository(
    look: Look, tmp_path: Path, make: Callable[[Path], object]
) -> None:
    evil = tmp_path / "evil"
    evil.mkdir()
    make(evil / ".git")
    assert set(writable(look(evil))) <= {evil, evil / ".git"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home, a repository with a worktree, and directories for hostile ones."""
    base = tmp_path_factory.mktemp("world")
    for name in ("home/worktrees/feature/a/worktrees/b", "home/.ssh", "home/state", "evil/a"):
        (base / name).mkdir(parents=True)
    commit(repository(base / "main"))
    git(base / "main", "worktree", "add", "-q", str(base / "tree"))
    return base


PLACES = st.sampled_from(
    [
        *("", ".", "..", "../..", "../../..", "a", "a/worktrees/b", ".git", "/"),
        *("{base}", "{base}/home", "{base}/home/.ssh", "{base}/home/state", "{base}/main"),
        *("{base}/main/.git", "{base}/main/.git/worktrees/tree", "{top}", "{top}/.git"),
        *("{base}/evil", "{base}/evil/a", "{base}/home/worktrees"),
    ]
)


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
    assert commondir in look(project).unguarded()
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
        remove_tree(project / ".git")


def test_what_is_missing_is_named_so_that_its_making_can_be_seen(
    look: Look, tmp_path: Path
) -> None:
    project = repository(tmp_path / "project")
    (project / ".bashrc").touch()
    missing = look(project).unguarded()
    assert set(missing) >= {project / name for name in OBEYED if name != ".bashrc"}
    assert project / ".bashrc" not in missing
    assert not [path for path in missing if path.exists()]


def test_guarded_and_unguarded_never_agree(look: Look, tmp_path: Path) -> None:
    project = repository(tmp_path / "project")
    (project / ".mcp.json").touch()
    found = look(project)
    assert not set(found.guarded()) & set(found.unguarded())
