"""A worktree for a run: where it is made, what a run can do in it, what becomes of it."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from homeroom import worktree
from homeroom.errors import WorkspaceError
from homeroom.workspace import find
from tests.life.conftest import Life
from tests.support.git import git

RUN = "run_" + "0123456789abcdef" * 2
ENVIRON = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "T",
    "HOME": "/nonexistent",
}


def commit(directory: Path, name: str = "file", content: str = "text\n") -> str:
    (directory / name).write_text(content)
    git(directory, "add", name)
    git(directory, *NAMED, "commit", "-q", "-m", name)
    return git(directory, "rev-parse", "HEAD").strip()


NAMED = ("-c", "user.name=Test", "-c", "user.email=test@example.invalid")


def added(directory: Path, branch: str | None = None) -> worktree.Worktree:
    return worktree.add(directory, branch, RUN, ENVIRON)


def finished(tree: worktree.Worktree, *, discard: bool = False) -> str | None:
    return worktree.finish(tree, ENVIRON, discard=discard)


def test_it_is_beside_the_repository_on_a_branch_of_its_own(workspace: Path) -> None:
    tree = added(workspace)
    assert tree.path == workspace.with_name("project.worktrees") / "0123456789ab"
    assert git(tree.path, "branch", "--show-current").strip() == "homeroom/0123456789ab"
    assert finished(tree) is None
    assert not tree.path.parent.exists()
    assert git(workspace, "branch", "--format=%(refname:short)") == "main\n"


def test_from_a_subdirectory_the_run_works_in_that_one(workspace: Path) -> None:
    (workspace / "a" / "b").mkdir(parents=True)
    commit(workspace, "a/b/file")
    (workspace / "untracked").mkdir()
    tree = added(workspace / "a" / "b")
    assert tree.directory == tree.path / "a" / "b"
    assert finished(tree) is None
    # One that the commit does not have is not there.
    tree = added(workspace / "untracked")
    assert tree.directory == tree.path
    assert finished(tree) is None


def test_a_bare_repository_has_worktrees_as_well(workspace: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(workspace), "bare.git")
    tree = added(tmp_path / "bare.git")
    assert tree.path.parent == tmp_path / "bare.git.worktrees"
    commit(tree.path)
    assert finished(tree, discard=True) is None


def test_a_branch_of_the_users_keeps_what_was_committed(workspace: Path) -> None:
    git(workspace, "branch", "feature")
    tree = added(workspace, "feature")
    made = commit(tree.path)
    assert finished(tree) is None
    assert git(workspace, "rev-parse", "feature").strip() == made


@pytest.mark.parametrize(
    ("branch", "said"),
    [
        ("main", "already checked out"),
        ("a..b", "cannot be a branch's name"),
        ("-x", "cannot be a branch's name"),
    ],
)
def test_an_impossible_branch_is_told(workspace: Path, branch: str, said: str) -> None:
    with pytest.raises(WorkspaceError, match=said):
        added(workspace, branch)
    assert not workspace.with_name("project.worktrees").exists()


def test_no_repository_and_no_commit_are_told(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    with pytest.raises(WorkspaceError, match="not a git repository"):
        added(plain)
    git(plain, "init", "-q")
    with pytest.raises(WorkspaceError, match="has no commit yet"):
        added(plain)


def test_hooks_of_the_repository_do_not_run(workspace: Path) -> None:
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        hook = workspace / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {workspace}/ran\n")
        hook.chmod(0o755)
    assert finished(added(workspace)) is None
    assert not (workspace / "ran").exists()


def test_work_that_would_be_lost_is_kept_and_named(workspace: Path) -> None:
    tree = added(workspace)
    (tree.path / "new").write_text("text")
    assert finished(tree) == f"{tree.path} was kept: it has changes that are not committed"
    commit(tree.path, "new")
    assert finished(tree) == f"{tree.path} was kept: its branch {tree.branch} is not merged"
    git(workspace, "merge", "-q", tree.branch)
    assert finished(tree) is None
    tree = added(workspace)
    (tree.path / "more").write_text("text")
    assert finished(tree, discard=True) is None
    assert not tree.path.exists()


def test_commits_that_were_left_behind_are_kept(workspace: Path) -> None:
    """On a branch of its own and on none, wherever the agent went afterwards."""
    tree = added(workspace)
    commit(tree.path)
    git(tree.path, "checkout", "-q", "--detach", "main")
    assert finished(tree) == f"{tree.path} was kept: its branch {tree.branch} is not merged"
    git(tree.path, "checkout", "-q", "-b", "elsewhere", tree.branch)
    assert finished(tree) is None
    assert git(workspace, "branch", "--format=%(refname:short)") == "elsewhere\nmain\n"
    git(workspace, "branch", "-D", "elsewhere")
    tree = added(workspace)
    git(tree.path, "checkout", "-q", "--detach")
    commit(tree.path, "lost")
    assert finished(tree) == f"{tree.path} was kept: what it has checked out is not merged"


def struck(directory: Path, signal_name: str) -> dict[str, str]:
    """Give an environment whose git is struck by a signal when it looks for a branch."""
    real = shutil.which("git")
    directory.mkdir()
    stub = directory / "git"
    blow = f'case "$*" in *show-ref*) kill -{signal_name} $$;; esac'
    stub.write_text(f'#!/bin/sh\n{blow}\nexec {real} "$@"\n')
    stub.chmod(0o755)
    return ENVIRON | {"PATH": f"{directory}{os.pathsep}{ENVIRON['PATH']}"}


def test_a_git_that_was_killed_has_not_said_that_there_is_no_branch(
    workspace: Path, tmp_path: Path
) -> None:
    """Or what is on it would be removed as if it were nothing."""
    tree = added(workspace)
    commit(tree.path)
    git(tree.path, "checkout", "-q", "--detach", "main")
    with pytest.raises(WorkspaceError, match=r"git show-ref in .* was ended by signal 9"):
        worktree.finish(tree, struck(tmp_path / "bin", "KILL"), discard=False)
    assert git(tree.path, "log", "-1", "--format=%s", tree.branch) == "file\n"


def test_ctrl_c_at_the_end_does_not_reach_what_takes_a_worktree_away(
    workspace: Path, tmp_path: Path
) -> None:
    tree = added(workspace)
    assert worktree.finish(tree, struck(tmp_path / "bin", "INT"), discard=False) is None
    assert not tree.path.exists()


def test_programs_that_a_submodule_names_do_not_run(workspace: Path) -> None:
    """An agent can put any repository there, with a configuration of its own."""
    tree = added(workspace)
    part = tree.path / "part"
    part.mkdir()
    git(part, "init", "-q")
    commit(part)
    trap = workspace / "trapped"
    for name in ("core.fsmonitor", "filter.trap.clean", "core.pager", "diff.external"):
        git(part, "config", name, f"touch {trap}; false")
    (part / ".gitattributes").write_text("* filter=trap\n")
    git(tree.path, "add", "part")
    git(tree.path, *NAMED, "commit", "-q", "-m", "part")
    git(workspace, "merge", "-q", tree.branch)
    (part / "file").write_text("changed")
    trap.unlink(missing_ok=True)
    assert finished(tree) == (
        f"{tree.path} was kept: its submodule part is checked out, and may hold work"
    )
    assert finished(tree, discard=True) is None
    assert not trap.exists()


def test_an_empty_submodule_hinders_nothing(workspace: Path) -> None:
    part = workspace / "part"
    part.mkdir()
    git(part, "init", "-q")
    commit(part)
    git(workspace, "add", "part")
    git(workspace, "commit", "-q", "-m", "part")
    assert finished(added(workspace)) is None


def test_the_agent_commits_in_its_worktree_and_it_is_named(life: Life) -> None:
    (life.workspace / "sub").mkdir()
    commit(life.workspace, "sub/file")
    (life.workspace / "dirty").write_text("not the run's business")
    done = life.start("--worktree", "--name", "tree", "--afk", "make the file", "-C", "sub")
    assert done.returncode == 0, done.stderr
    [row] = life.json("list", "--all")["runs"]
    short = row["run_id"].removeprefix("run_")[:12]
    tree = life.workspace.with_name("project.worktrees") / short
    assert f"{tree} was kept: it has changes that are not committed" in done.stderr
    assert (tree / "sub" / "made-inside").read_text() == "made\n"
    assert not (life.workspace / "sub" / "made-inside").exists()
    assert row["workspace"] == str(tree / "sub")
    assert "made-inside" in life.do("transcript", "tree")
    done = life.start("--worktree", "work", "--afk", "hi")
    assert done.returncode == 0, done.stderr
    assert "was kept" not in done.stderr
    assert [path.name for path in tree.parent.iterdir()] == [short]
    done = life.start("--worktree", "--discard", "--afk", "make the file")
    assert (done.returncode, "was kept" in done.stderr) == (0, False)
    assert [path.name for path in tree.parent.iterdir()] == [short]


TRY_GIT = """
tried() {
  name=$1; shift
  if "$@" >/dev/null 2>out; then echo "$name: yes"; else echo "$name: no"; fi
}
common=$(git rev-parse --path-format=absolute --git-common-dir)
echo text > new
tried add git add new
tried commit git commit -qm work
tried log git log -1
tried branch git checkout -qb another
echo more >> new
tried stash git stash
tried pop git stash pop
tried again git commit -qam more
tried rebase git rebase -q main
tried tag git tag v1
tried merge git merge -q main
tried config git config user.name Evil
tried hook sh -c "echo evil > $common/hooks/pre-commit"
tried head sh -c "echo evil > $common/HEAD"
tried index sh -c "echo evil > $common/index"
tried info sh -c "echo evil > $common/info/attributes"
tried other sh -c "echo evil > $common/worktrees/other/HEAD"
tried gitdir sh -c "echo evil > $common/worktrees/*/gitdir"
rm -f out
"""


def test_the_repository_is_writable_as_far_as_a_commit_needs(life: Life) -> None:
    commit(life.workspace, "try-git.sh", TRY_GIT)
    git(life.workspace, "worktree", "add", "-q", "--detach", str(life.home.home / "other"))
    done = life.start("--worktree", "--afk", "try git")
    assert done.returncode == 0, done.stderr
    [tree] = life.workspace.with_name("project.worktrees").iterdir()
    tried = dict(line.split(": ") for line in (tree / "tried").read_text().splitlines())
    needed = ("add", "commit", "log", "branch", "stash", "pop", "again", "rebase", "tag", "merge")
    kept_out = ("config", "hook", "head", "index", "info", "other", "gitdir")
    assert tried == dict.fromkeys(needed, "yes") | dict.fromkeys(kept_out, "no")
    assert git(life.workspace, "fsck", "--strict", "--no-dangling") == ""
    assert git(life.workspace, "log", "-1", "--format=%s", "another") == "more\n"


@pytest.mark.parametrize("dirty", [False, True])
def test_the_worktree_of_a_crashed_run_goes_only_when_nothing_is_lost(
    slow: Life, dirty: bool
) -> None:
    run_id = slow.detach("--worktree", "--afk", "hi")
    tree = Path(slow.record(run_id)["worktree"])
    if dirty:
        (tree / "work").write_text("text")
    slow.supervisor(run_id).send_signal(signal.SIGKILL)
    slow.tmux("kill-server")
    slow.age()
    [entry] = [entry for entry in slow.sweep() if entry["name"] == run_id]
    assert entry["verdict"] == "removed"
    kept = f"{tree} was kept: it has changes that are not committed"
    assert (kept in entry["reason"]) is dirty
    assert tree.exists() is dirty
    found = slow.record(run_id)
    assert found["state"] == "crashed"
    assert (kept in found["note"]) is dirty
    branches = git(slow.workspace, "branch", "--format=%(refname:short)").split()
    assert (f"homeroom/{tree.name}" in branches) is dirty
    assert slow.sweep() == []


def test_no_program_that_the_run_names_is_run_when_it_is_over(
    workspace: Path, tmp_path: Path
) -> None:
    git(workspace, "config", "extensions.worktreeConfig", "true")
    tree = added(workspace)
    own = Path(git(tree.path, "rev-parse", "--absolute-git-dir").strip())
    # What is not there can be made by the run; with a filter in it, git would run that.
    assert (own / "config.worktree").read_bytes() == b""
    found = find(tree.path, [tmp_path / "home"], [])
    assert own / "config.worktree" in found.guarded()
    assert finished(tree) is None


def test_a_file_that_git_waits_for_keeps_the_worktree_and_ends_the_waiting(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worktree, "_LOOK_LIMIT", 0.5)
    tree = added(workspace)
    os.mkfifo(tree.path / ".gitignore")
    with pytest.raises(WorkspaceError, match="did not end within"):
        finished(tree)
    assert tree.path.is_dir()
