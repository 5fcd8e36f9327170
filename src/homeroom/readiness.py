"""Why a plan cannot be carried out now: a tool is missing, or a login that nobody could enter."""

import os
from collections.abc import Mapping

from homeroom import worktree
from homeroom.credential.vault import DEFAULT_PROFILE, command
from homeroom.errors import CredentialError, HomeroomError, ToolError, WorkspaceError
from homeroom.paths import Paths
from homeroom.plan import Plan
from homeroom.toolchain import store
from homeroom.toolchain.system import locate_system_tools


def require(decided: Plan, environ: Mapping[str, str], paths: Paths) -> None:
    """Refuse a plan that could only fail, before anything of it is made.

    Args:
        decided: The plan.
        environ: The caller's environment.
        paths: homeroom's directories.

    Raises:
        ToolError: A tool, or the container engine, is missing or cannot be used; it says
            which, and what to do.
        WorkspaceError: The run shall have a worktree, and there is no repository.
        CredentialError: The room would be logged out, and the agent do nothing but say so.
    """
    _require_tools(decided, environ, paths)
    _require_repository(decided, environ)
    _require_login(decided)


def obstacle(decided: Plan, environ: Mapping[str, str], paths: Paths) -> HomeroomError | None:
    """Tell what ``require`` would raise; None when the plan could be carried out.

    Args:
        decided: The plan.
        environ: The caller's environment.
        paths: homeroom's directories.
    """
    try:
        require(decided, environ, paths)
    except HomeroomError as error:
        return error
    return None


def _require_tools(decided: Plan, environ: Mapping[str, str], paths: Paths) -> None:
    toolchain = store.require(paths, environ)
    if decided.housing is None:
        locate_system_tools(environ)
    else:
        from homeroom.session import engine

        with engine.connected(decided.housing.address) as client:
            engine.require(client, decided.housing.image)
    if decided.missing:
        raise ToolError(f"{decided.missing[0]} is not on PATH", "install it, then try again")
    for tool in toolchain.tools.values():
        # srt and the model server are scripts that the pinned Node.js runs.
        access = os.R_OK if tool.path.suffix == ".js" else os.R_OK | os.X_OK
        if not os.access(tool.path, access) or not tool.path.is_file():
            raise ToolError(
                f"{tool.name} {tool.version} at {tool.path} is missing or not executable",
                "remove that toolchain's directory and run `homeroom setup`",
            )


def _require_repository(decided: Plan, environ: Mapping[str, str]) -> None:
    """Refuse a worktree where git knows of no repository, before anything is announced."""
    if decided.wish.request.worktree is None:
        return
    try:
        worktree.Git(environ)(decided.room.workspace.directory, "rev-parse", "--git-dir")
    except WorkspaceError as error:
        raise WorkspaceError(
            f"--worktree: {error.message}",
            error.hint or "go to a git repository that has a commit, or leave out --worktree",
        ) from error


def _require_login(decided: Plan) -> None:
    """Refuse what can only fail without a login; who said --no-credentials knows it."""
    if decided.chosen.origin is not None or decided.wish.request.login is not None:
        return
    provider, request = decided.provider, decided.wish.request
    inherited = decided.wish.config.environment.inherit
    # One that the configuration names and that is not set is passed over.
    passed = [*request.inherit, *(name for name in inherited if name in decided.wish.environ)]
    if provider.needs_login(decided.room, request.arguments, passed, decided.seeds):
        raise CredentialError(
            f"{provider.name} is not logged in, and this run could not ask anybody to log in",
            f"run `{command('login', provider.name, DEFAULT_PROFILE)}`, or pass "
            "--api-key-env NAME; --no-credentials starts it all the same",
        )
