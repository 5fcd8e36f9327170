"""The directory an agent works in, and what belongs to it: its repository and its links."""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from homeroom import repository
from homeroom.errors import WorkspaceError

_SUBMODULES_LIMIT = 200
_NESTED_DEPTH = 2
# Filesystem Hierarchy Standard 3.0: in none of these does a project begin.
_SYSTEM = frozenset(
    Path("/", name)
    for name in ("bin", "boot", "etc", "home", "lib", "lib64", "media", "mnt", "opt", "run", "sbin")
) | frozenset(map(Path, ("/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/sbin", "/var")))
_KERNEL = (Path("/proc"), Path("/sys"), Path("/dev"))
_OF_KEYS = (".ssh", ".gnupg", ".aws")
_NESTED_LIMIT = 2000
_NOT_SEARCHED = frozenset({".git", "node_modules", ".venv", ".nox", ".tox"})

# Files in a work tree that tools of the user run or obey when they find them. srt denies
# writing them below its own working directory; homeroom starts it elsewhere, so that runs
# in one workspace do not disturb each other, and names them itself (srt 0.0.83,
# dist/sandbox/sandbox-utils.js, DANGEROUS_FILES and getDangerousDirectories).
OBEYED = (
    ".bash_profile",
    ".bashrc",
    ".claude/agents",
    ".claude/commands",
    ".gitconfig",
    ".gitmodules",
    ".idea",
    ".mcp.json",
    ".profile",
    ".ripgreprc",
    ".vscode",
    ".zprofile",
    ".zshrc",
)
# The same in a repository: gitrepository-layout(5), git-config(1) on core.hooksPath. Where
# there is a "commondir", git takes configuration and hooks from what it names.
_GIT_OBEYED = ("commondir", "config", "config.worktree", "hooks")
# What a commit in a linked worktree writes to in the repository (gitrepository-layout(5)).
# "packed-refs" is replaced as a whole: a mount over it would hide what others do to it.
_COMMITTED = ("logs", "objects", "packed-refs", "packed-refs.lock", "refs")
# As the condition of a path; no link can lead to it.
_IS_THERE = ""
_WORKTREE_OBEYED = ("commondir", "config.worktree", "gitdir")


class Workspace(msgspec.Struct, frozen=True):
    """A place to work in, all paths real (no symlinks).

    Attributes:
        directory: Where the agent starts.
        root: The top of the work tree, or the directory itself outside a repository.
        git_directories: What a commit writes to: the repository, for a worktree or a
            submodule also the part of the main repository that is its own.
        trust_roots: Directories whose trust the agent may ask for.
        obeyed: Names in the work tree that other tools execute or obey.
    """

    directory: Path
    root: Path
    git_directories: tuple[Path, ...] = ()
    trust_roots: tuple[Path, ...] = ()
    obeyed: tuple[str, ...] = OBEYED

    def guarded(self) -> tuple[Path, ...]:
        """Name what a run may read but never write, though it lies in the workspace.

        Returns:
            The existing files and directories that other tools execute or obey: git
            hooks and configuration, editor and shell settings. Missing ones, and links
            to nothing, cannot be denied without making them: bwrap would leave a stub in
            the workspace.
        """
        return tuple(path for path in self._named() if os.path.exists(path))

    def _named(self) -> tuple[Path, ...]:
        """Name what is obeyed, whether it is there or not."""
        found = [self.root / name for name in self.obeyed]
        found += _nested(self.root, self.obeyed)
        for directory in self.git_directories:
            # The .git of a worktree or a submodule is a file, which names the repository.
            found += [directory] if os.path.isfile(directory) else []
            found += [directory / name for name in _GIT_OBEYED]
            for name in _WORKTREE_OBEYED:
                found += sorted(directory.glob(f"worktrees/*/{name}"))
            found += _submodule_guards(directory / "modules")
        found += self._shared()
        return tuple(dict.fromkeys(found))

    def _shared(self) -> list[Path]:
        """Name what of the repository a linked worktree shares and a commit does not need."""
        link, *common = self.git_directories or (Path("/"),)
        if not common or not os.path.isfile(link) or not os.path.lexists(common[0] / "HEAD"):
            return []
        target = repository.read_link(link, "gitdir: ")
        own = Path(os.path.realpath(link.parent / target)) if target else None
        if own is None or own.parent != common[0] / "worktrees":
            return []
        # Not "packed-refs" nor what git puts beside it while it changes a reference.
        kept_open = {*_COMMITTED, "worktrees", own.name}
        beside = [*_children(common[0]), *_children(own.parent)]
        return [path for path in beside if path.name not in kept_open or os.path.islink(path)]

    def repositories(self) -> frozenset[Path]:
        """Name the repositories just below, whose configuration git obeys from above as well."""
        beside = (directory / ".git" for directory in _below(self.root))
        return frozenset(path for path in beside if os.path.lexists(path))

    def open_to_change(self) -> dict[Path, str | None]:
        """Tell how obeyed files are that a run could make or replace.

        Returns:
            Those that are missing, with None, and those that are links, with where they lead:
            a mount holds what a link leads to, and not the link.
        """
        candidates = [*self._named()]
        if not self.git_directories:
            candidates.append(self.root / ".git")
        seen = {path: condition(path) for path in candidates}
        return {path: how for path, how in seen.items() if how != _IS_THERE}


def condition(path: Path) -> str | None:
    """Tell of a path where it leads, if it is a link; else whether it is there at all."""
    try:
        leads = os.readlink(path)
    except OSError:
        return _IS_THERE if os.path.lexists(path) else None
    return f"{leads} ({'there' if os.path.exists(path) else 'missing'})"


def find(
    directory: Path,
    homes: Iterable[Path],
    private: Iterable[Path],
    *,
    also_obeyed: Iterable[str] = (),
) -> Workspace:
    """Look at a directory that a run shall work in, and refuse an unsafe one.

    Args:
        directory: As the user gave it.
        homes: The user's home directories (the environment's, the password file's).
        private: Directories that no workspace may touch: homeroom's own.
        also_obeyed: Names in a work tree that are obeyed besides those of ``OBEYED``.

    Returns:
        The workspace, with every path resolved.

    Raises:
        WorkspaceError: It does not exist, is no directory, cannot be entered, is the
            file system's root or a home, or overlaps with a private directory.
    """
    try:
        real = Path(os.path.realpath(directory, strict=True))
        mode = os.stat(real).st_mode
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise WorkspaceError(
            f"cannot work in {directory}: {reason}", "name a directory that exists"
        ) from error
    if not stat.S_ISDIR(mode):
        raise WorkspaceError(f"cannot work in {real}: not a directory", "name a directory")
    try:
        str(real).encode()
    except UnicodeEncodeError as error:
        raise WorkspaceError(
            f"cannot work in {os.fsencode(real)!r}: the name is not valid UTF-8",
            "rename the directory: the sandbox's settings are JSON",
        ) from error
    homes = [Path(os.path.realpath(home)) for home in homes]
    private = [Path(os.path.realpath(path)) for path in private]
    _refuse_wide(real, homes)
    _refuse_private(real, private)
    if not os.access(real, os.R_OK | os.W_OK | os.X_OK):
        raise WorkspaceError(
            f"cannot work in {real}: you may not read, write and enter it",
            "choose a directory of your own",
        )
    obeyed = (*OBEYED, *also_obeyed)
    top = _work_tree_top(real, homes)
    if top is None:
        return Workspace(real, real, (), (real,), obeyed)
    _refuse_private(top, private)
    git_directories = repository.directories_of(top)
    if any(_is_out_of_bounds(path, homes, private) for path in git_directories):
        git_directories = ()
    roots = dict.fromkeys(
        [real, top, *(repository.main_tree(path) for path in git_directories[1:])]
    )
    return Workspace(real, top, git_directories, tuple(root for root in roots if root), obeyed)


def _refuse_wide(real: Path, homes: list[Path]) -> None:
    if real == Path("/"):
        raise WorkspaceError(
            "cannot work in /: the room would hold the whole machine", "choose a project directory"
        )
    if real in _SYSTEM or any(real.is_relative_to(path) for path in _KERNEL):
        raise WorkspaceError(
            f"cannot work in {real}: it is a directory of the system's",
            "choose a project directory",
        )
    for home in homes:
        for name in _OF_KEYS:
            if real.is_relative_to(home / name):
                raise WorkspaceError(
                    f"cannot work in {real}: keys are in {home / name}",
                    "choose a project directory",
                )
        if home.is_relative_to(real):
            what = "it is your home directory" if home == real else "your home directory is in it"
            raise WorkspaceError(
                f"cannot work in {real}: {what}, which a run must not see",
                "choose a project directory below your home",
            )


def _refuse_private(directory: Path, private: Iterable[Path]) -> None:
    for other in private:
        if directory.is_relative_to(other) or other.is_relative_to(directory):
            raise WorkspaceError(
                f"cannot work in {directory}: it overlaps with {other}, which no run may touch",
                "choose a project directory",
            )


def _is_out_of_bounds(path: Path, homes: Iterable[Path], private: Iterable[Path]) -> bool:
    """Tell whether making a path writable would open a home or a private directory."""
    return any(home.is_relative_to(path) for home in homes) or any(
        other.is_relative_to(path) or path.is_relative_to(other) for other in private
    )


def _work_tree_top(directory: Path, homes: list[Path]) -> Path | None:
    """Find the repository's top as git does, but never one that is a home or holds it."""
    for candidate in (directory, *directory.parents):
        if any(home.is_relative_to(candidate) for home in homes):
            return None
        if os.path.lexists(candidate / ".git"):
            # git's own rule (safe.directory in git-config(1)): somebody else's repository
            # above decides nothing, least of all what a run may write to.
            is_own = os.lstat(candidate / ".git").st_uid == os.geteuid()
            return candidate if is_own else None
    return None


def _nested(root: Path, obeyed: tuple[str, ...]) -> list[Path]:
    """Look for the same names in the directories just below, as srt does below its own."""
    found: list[Path] = []
    for directory in _below(root):
        found += [path for name in obeyed if os.path.lexists(path := directory / name)]
        if os.path.isdir(directory / ".git"):
            found += [directory / ".git" / name for name in _GIT_OBEYED]
        elif os.path.isfile(directory / ".git"):
            found += [directory / ".git"]
    return found


def _below(root: Path) -> Iterator[Path]:
    level = [root]
    for _ in range(_NESTED_DEPTH):
        level = [child for parent in level for child in _directories(parent)]
        yield from level[:_NESTED_LIMIT]


def _directories(parent: Path, passed_over: frozenset[str] = _NOT_SEARCHED) -> list[Path]:
    try:
        with os.scandir(parent) as entries:
            return [
                Path(entry.path)
                for entry in entries
                if entry.is_dir(follow_symlinks=False) and entry.name not in passed_over
            ]
    except OSError:
        return []


def _children(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except OSError:
        return []


def _submodule_guards(modules: Path) -> list[Path]:
    found: list[Path] = []
    # Not by os.walk, which ends in a RecursionError in a tree that is deep enough.
    pending = [modules]
    while pending:
        directory = pending.pop()
        if os.path.lexists(directory / "HEAD"):
            found += [directory / "hooks", directory / "config"]
            pending += [directory / "modules"]
        else:
            pending += _directories(directory, frozenset())
        if len(found) > 2 * _SUBMODULES_LIMIT:
            raise WorkspaceError(
                f"{modules} holds more than {_SUBMODULES_LIMIT} submodules",
                "start the run in one of them",
            )
    return found
