"""A git worktree for one run, so that several can work on one repository at once."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from homeroom.errors import ToolError, WorkspaceError
from homeroom.shelter import sheltered

_TIME_LIMIT = 300.0
# To look at a work tree takes no long time, or never ends.
_LOOK_LIMIT = 30.0
_NEW_BRANCH = "homeroom"
_QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")


class Worktree(msgspec.Struct, frozen=True):
    """A worktree that was added.

    Attributes:
        path: Its top.
        directory: Where to work in it: the place that answers to where it was asked for.
        repository: The repository's own directory.
        branch: What is checked out.
        start: The commit that it began at; None where nobody knows any more.
    """

    path: Path
    directory: Path
    repository: Path
    branch: str
    start: str | None


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
        # These would run outside of any sandbox, on behalf of a run.
        try:
            done = self._called(directory, *words)
        except subprocess.TimeoutExpired as error:
            # A FIFO that an agent made where git looks for a file, for one.
            raise WorkspaceError(
                f"git {words[0]} in {directory} did not end within {_limit(words):.0f} seconds",
                f"see what hinders it: git -C {shlex.quote(str(directory))} {words[0]}",
            ) from error
        if done.returncode < 0:
            # No answer, and least of all a "no".
            raise WorkspaceError(
                f"git {words[0]} in {directory} was ended by signal {-done.returncode}"
            )
        return done

    def _called(self, directory: Path, *words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [self._program, "-C", str(directory), *_QUIET, *words],
            check=False,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            stdin=subprocess.DEVNULL,
            env=self._environ,
            timeout=_limit(words),
        )


def _limit(words: Sequence[str]) -> float:
    return _TIME_LIMIT if words[0] == "worktree" else _LOOK_LIMIT


def intend(
    directory: Path, branch: str | None, run_id: str, environ: Mapping[str, str]
) -> tuple[Path, str]:
    """Tell where a worktree would be added, and what would be checked out. Makes nothing.

    Args:
        directory: As for ``add``.
        branch: The same.
        run_id: The same.
        environ: The same.

    Returns:
        Its top, and the branch.

    Raises:
        ToolError: git is not installed.
        WorkspaceError: It is no repository.
    """
    _, main = _repository(Git(environ), directory)
    return _place(main, branch, run_id)


def _repository(git: Git, directory: Path) -> tuple[Path, Path]:
    """Find a repository's own directory and its main work tree, the same where it is bare."""
    common = Path(git(directory, "rev-parse", "--path-format=absolute", "--git-common-dir"))
    is_bare = git(directory, "rev-parse", "--is-bare-repository") == "true"
    return common, common if is_bare else common.parent


def _place(main: Path, branch: str | None, run_id: str) -> tuple[Path, str]:
    short = run_id.removeprefix("run_")[:12]
    return main.with_name(f"{main.name}.worktrees") / short, branch or f"{_NEW_BRANCH}/{short}"


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
    common, main = _repository(git, directory)
    prefix = "" if main == common else git(directory, "rev-parse", "--show-prefix")
    path, name = _place(main, branch, run_id)
    if not git.succeeds(directory, "check-ref-format", "--branch", name):
        raise WorkspaceError(f"{name!r} cannot be a branch's name", "choose another one")
    exists = git.succeeds(directory, "show-ref", "--verify", "--quiet", f"refs/heads/{name}")
    if not exists and not git.succeeds(directory, "rev-parse", "--verify", "--quiet", "HEAD"):
        raise WorkspaceError(f"{main} has no commit yet, so nothing to check out", "commit first")
    start = git(directory, "rev-parse", "--verify", f"refs/heads/{name}" if exists else "HEAD")
    chosen = [str(path), name] if exists else ["-b", name, str(path), start]
    git(directory, "worktree", "add", "--quiet", *chosen)
    # A missing file cannot be guarded. With extensions.worktreeConfig a run that made this one
    # could name programs in it, which git runs outside of any sandbox when the run is over.
    own = Path(git(path, "rev-parse", "--absolute-git-dir")) / "config.worktree"
    own.touch(mode=0o644)
    inner = path / prefix
    return Worktree(path, inner if inner.is_dir() else path, common, name, start)


def recover(path: Path, environ: Mapping[str, str]) -> Worktree | None:
    """Look at a worktree that was added for a run whose supervisor died.

    Args:
        path: Its top, as the run's record has it.
        environ: The caller's environment.

    Returns:
        The worktree, or None when it is gone or was moved.

    Raises:
        ToolError: git is not installed.
        WorkspaceError: It is no worktree of a repository.
    """
    if not path.is_dir():
        return None
    git = Git(environ)
    top = Path(git(path, "rev-parse", "--path-format=absolute", "--show-toplevel"))
    common = Path(git(path, "rev-parse", "--path-format=absolute", "--git-common-dir"))
    own = Path(git(path, "rev-parse", "--path-format=absolute", "--git-dir"))
    if top != path or own.parent != common / "worktrees":
        raise WorkspaceError(f"{path} is not a worktree any more", "look at it")
    made = f"{_NEW_BRANCH}/{path.name}"
    is_ours = git.succeeds(path, "show-ref", "--verify", "--quiet", f"refs/heads/{made}")
    branch = made if is_ours else git(path, "branch", "--show-current")
    return Worktree(path, path, common, branch, None)


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
    # To take a worktree half away would lose what is in it.
    with sheltered():
        return _finish(Git(environ), tree, discard=discard)


def _finish(git: Git, tree: Worktree, *, discard: bool) -> str | None:
    if not tree.path.is_dir():
        git(tree.repository, "worktree", "prune")
        return None
    kept = None if discard else _reason_to_keep(git, tree)
    if kept is not None:
        return f"{tree.path} was kept: {kept}"
    # By force: without it git refuses a tree with submodules, however clean.
    git(tree.repository, "worktree", "remove", "--force", str(tree.path))
    if _is_own(tree):
        git.succeeds(tree.repository, "branch", "-D", tree.branch)
    if not any(tree.path.parent.iterdir()):
        tree.path.parent.rmdir()
    return None


def _reason_to_keep(git: Git, tree: Worktree) -> str | None:
    # Not into submodules: each has a configuration of its own, which the agent could write,
    # and git would run the programs that it names.
    if git(tree.path, "status", "--porcelain", "--ignore-submodules=dirty"):
        return "it has changes that are not committed"
    filled = _filled_submodules(git, tree.path)
    if filled:
        return f"its submodule {filled[0]} is checked out, and may hold work"
    # Both: the agent may have gone to another branch, or to none, and left this one behind.
    ends = {git(tree.path, "rev-parse", "HEAD"): "what it has checked out"}
    own = f"refs/heads/{tree.branch}"
    if _is_own(tree) and git.succeeds(tree.repository, "show-ref", "--verify", "--quiet", own):
        ends[git(tree.repository, "rev-parse", own)] = f"its branch {tree.branch}"
    lost = [name for end, name in ends.items() if end != tree.start and not _stays(git, tree, end)]
    return f"{lost[0]} is not merged" if lost else None


def _stays(git: Git, tree: Worktree, commit: str) -> bool:
    """Tell whether a branch holds a commit that is there when the worktree is gone."""
    listed = git(tree.repository, "branch", "--format=%(refname)", "--contains", commit)
    gone = f"refs/heads/{tree.branch}" if _is_own(tree) else ""
    # git lists a head without a branch as well.
    return any(name.startswith("refs/heads/") and name != gone for name in listed.splitlines())


def _is_own(tree: Worktree) -> bool:
    return tree.branch.startswith(f"{_NEW_BRANCH}/")


def _filled_submodules(git: Git, top: Path) -> list[str]:
    listed = git(top, "ls-files", "--stage", "-z").split("\0")
    names = [entry.partition("\t")[2] for entry in listed if entry.startswith("160000 ")]
    return [name for name in names if (top / name).is_dir() and any((top / name).iterdir())]
