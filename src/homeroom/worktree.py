"""A git worktree for one run, so that several can work on one repository at once."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from homeroom.errors import ToolError, WorkspaceError

_TIME_LIMIT = 300.0
_NEW_BRANCH = "homeroom"


@dataclass(frozen=True)
class Worktree:
    """A worktree that was added.

    Attributes:
        path: Its top.
        directory: Where to work in it: the place that answers to where it was asked for.
        repository: The repository's own directory.
        branch: What is checked out.
        start: The commit that it began at.
    """

    path: Path
    directory: Path
    repository: Path
    branch: str
    start: str


class Git:
    """git, without the user's hooks and without what the environment says about it.

    Args:
        environ: The caller's environment.

    Raises:
        ToolError: git is not installed.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        program = shutil.which("git", path=environ.get("PATH", os.defpath))
        if program is None:
            raise ToolError("git is not installed, which makes worktrees", "install git")
        self._program = program
        self._environ = {n: v for n, v in environ.items() if not n.startswith("GIT_")}

    def __call__(self, directory: Path, *words: str) -> str:
        """Run git and give what it printed.

        Raises:
            WorkspaceError: It failed, with what it said.
        """
        done = self._run(directory, *words)
        if done.returncode != 0:
            said = (done.stderr.strip() or f"status {done.returncode}").splitlines()[-1]
            raise WorkspaceError(f"git {words[0]} in {directory}: {said.removeprefix('fatal: ')}")
        return done.stdout.strip()

    def succeeds(self, directory: Path, *words: str) -> bool:
        """Run git and tell whether it ended with 0."""
        return self._run(directory, *words).returncode == 0

    def _run(self, directory: Path, *words: str) -> "subprocess.CompletedProcess[str]":
        # A hook would run outside of any sandbox, on behalf of a run.
        return subprocess.run(
            [self._program, "-C", str(directory), "-c", "core.hooksPath=/dev/null", *words],
            check=False,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            stdin=subprocess.DEVNULL,
            env=self._environ,
            timeout=_TIME_LIMIT,
        )


def add(directory: Path, branch: str | None, run_id: str, environ: Mapping[str, str]) -> Worktree:
    """Add a worktree beside a repository.

    Args:
        directory: A place in the repository, or a bare repository.
        branch: What to check out, made when there is no such branch; None for a new
            branch named after the run.
        run_id: The run.
        environ: The caller's environment.

    Returns:
        The worktree.

    Raises:
        ToolError: git is not installed.
        WorkspaceError: It is no repository, has no commit yet, or the branch is checked
            out elsewhere or has an impossible name.
    """
    git = Git(environ)
    short = run_id.removeprefix("run_")[:12]
    common = Path(git(directory, "rev-parse", "--path-format=absolute", "--git-common-dir"))
    is_bare = git(directory, "rev-parse", "--is-bare-repository") == "true"
    prefix = "" if is_bare else git(directory, "rev-parse", "--show-prefix")
    main = common if is_bare else common.parent
    name = branch or f"{_NEW_BRANCH}/{short}"
    if not git.succeeds(directory, "check-ref-format", "--branch", name):
        raise WorkspaceError(f"{name!r} cannot be a branch's name", "choose another one")
    exists = git.succeeds(directory, "show-ref", "--verify", "--quiet", f"refs/heads/{name}")
    start = git(directory, "rev-parse", "--verify", f"refs/heads/{name}" if exists else "HEAD")
    path = main.with_name(f"{main.name}.worktrees") / short
    chosen = [str(path), name] if exists else ["-b", name, str(path), start]
    git(directory, "worktree", "add", "--quiet", *chosen)
    inner = path / prefix
    return Worktree(path, inner if inner.is_dir() else path, common, name, start)


def finish(tree: Worktree, environ: Mapping[str, str], *, discard: bool) -> str | None:
    """Remove a worktree when nothing would be lost, or when that is what was asked for.

    Args:
        tree: The worktree.
        environ: The caller's environment.
        discard: Whether to remove it with all that is in it, its new branch included.

    Returns:
        None when it is gone, else why it was kept.

    Raises:
        ToolError: git is not installed.
        WorkspaceError: git could not remove it.
    """
    git = Git(environ)
    if not tree.path.is_dir():
        git(tree.repository, "worktree", "prune")
        return None
    kept = None if discard else _reason_to_keep(git, tree)
    if kept is not None:
        return f"{tree.path} was kept: {kept}"
    # By force: without it git refuses a tree with submodules, however clean.
    git(tree.repository, "worktree", "remove", "--force", str(tree.path))
    own = tree.branch.startswith(f"{_NEW_BRANCH}/")
    if own:
        git.succeeds(tree.repository, "branch", "-D", tree.branch)
    if not any(tree.path.parent.iterdir()):
        tree.path.parent.rmdir()
    return None


def _reason_to_keep(git: Git, tree: Worktree) -> str | None:
    if git(tree.path, "status", "--porcelain", "--ignore-submodules=none"):
        return "it has changes that are not committed"
    if git(tree.path, "rev-parse", "HEAD") == tree.start:
        return None
    # Work on a branch of the user's own stays on that branch, wherever the tree goes.
    if not tree.branch.startswith(f"{_NEW_BRANCH}/"):
        return None
    merged = git(tree.repository, "branch", "--format=%(refname:short)", "--contains", tree.branch)
    others = [name for name in merged.splitlines() if name and name != tree.branch]
    return None if others else f"its branch {tree.branch} is not merged"
