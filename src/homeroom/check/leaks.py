"""Probes of what a private home does not cover: surfaces that every room shares."""

import os
from pathlib import Path

from homeroom import environment, home, plan, provider, rules, workspace
from homeroom.check.model import Finding, Probe, Surroundings, fail, ok, skipped, warn
from homeroom.errors import WorkspaceError
from homeroom.request import Request

_EXPLAINED = "see docs/explanation/sandbox.md"
# What programs obey, or find secrets by, in a home.
_OF_HOME = (
    ".agents",
    ".bash_history",
    ".config/gh",
    ".config/git",
    ".docker/config.json",
    ".gitconfig",
    ".gnupg",
    ".netrc",
    ".npmrc",
    ".ssh/config",
)
_OF_MACHINE = ("/etc/ssh/ssh_config", "/etc/ssh/ssh_config.d", "/etc/gitconfig", "/etc/npmrc")
# Variables that move a program's state, or carry a secret; the room has its own of some.
_MOVERS = ("_HOME", "_CONFIG_DIR", "_KEY", "_TOKEN", "_SECRET", "_PASSWORD")


def _managed(around: Surroundings) -> Finding:
    surfaces = [path for name in provider.names() for path in provider.get(name).surfaces().machine]
    found = [path for path in dict.fromkeys(surfaces) if os.path.lexists(around.machine(path))]
    if found:
        return warn(f"settings of this machine reach every room: {', '.join(found)}", _EXPLAINED)
    return ok("no settings of the machine's administrator")


def _ancestors(around: Surroundings) -> Finding:
    """Look above the workspace, but not in a home: the sandbox keeps runs out of that."""
    ground = rules.survey(around.environ, around.paths)
    try:
        here = workspace.find(around.directory, ground.homes, ground.private).root
    except WorkspaceError as error:
        return skipped(f"no room can work here: {error.message}")
    agents = [provider.get(name) for name in provider.names()]
    names = dict.fromkeys(name for agent in agents for name in agent.surfaces().inherited)
    found = [
        str(directory / name)
        for directory in here.parents
        if not any(directory.is_relative_to(user) for user in ground.homes)
        for name in names
        if os.path.lexists(directory / name)
    ]
    if found:
        return warn(f"above this workspace, and read by agents: {', '.join(found)}", _EXPLAINED)
    return ok("nothing above this workspace is read by agents")


def _variables(around: Surroundings) -> Finding:
    names = sorted(
        name for name in around.environ if name.startswith("XDG_") or name.endswith(_MOVERS)
    )
    passed = environment.allowed(around.environ, [])
    leaking = [name for name in names if name in passed]
    if leaking:
        return fail(f"passed on to every room: {', '.join(leaking)}", f"unset {' '.join(leaking)}")
    if not names:
        return ok("no variable of yours moves a program's state or holds a key")
    return ok(f"kept out of every room: {', '.join(names)}")


def _chosen(around: Surroundings) -> Finding:
    chosen = around.config
    passed = [f"variable {name}" for name in chosen.environment.inherit]
    opened = [f"reading {path}" for path in chosen.files.read]
    opened += [f"writing {path}" for path in chosen.files.write]
    hosts = [f"host {host}" for host in chosen.network.allow]
    seeds = [f"your own {name}" for name in chosen.seed.include]
    seeds += ["hooks, which run programs"] if chosen.seed.hooks else []
    found = [*passed, *opened, *hosts, *seeds]
    if found:
        return warn(
            f"every room has, by your config.toml: {', '.join(found)}",
            f"narrow {around.paths.config_file}, or leave it if you meant that",
        )
    return ok("config.toml opens nothing")


def _home(around: Surroundings) -> Finding:
    """Ask the very rules that a start here would have about what lies in the user's home."""
    request = Request(provider.DEFAULT, directory=around.directory, use_credentials=False)
    try:
        policy = plan.make(
            request, around.environ, around.paths, around.config, home.new_run_id()
        ).policy
    except WorkspaceError as error:
        return skipped(f"no room can work here: {error.message}")
    listed = [user / name for user in around.homes for name in _OF_HOME]
    there = [path for path in listed if os.path.lexists(path)]
    opened = [path for path in there if policy.is_readable(Path(os.path.realpath(path)))]
    if opened:
        return warn(f"readable in a room on this directory: {_listed(opened)}", _EXPLAINED)
    return ok(f"kept out: {_listed(there)}" if there else "there is nothing of the kind")


def _machine(around: Surroundings) -> Finding:
    found = [path for path in _OF_MACHINE if os.path.lexists(around.machine(path))]
    temp = os.path.realpath("/tmp")  # noqa: S108 - what is said about it is the point
    return ok(f"readable in every room, as far as the modes let you: {_listed([*found, temp])}")


def _listed(paths: list[Path] | list[str]) -> str:
    return ", ".join(str(path) for path in paths)


PROBES = (
    Probe("leaks.managed", "No managed settings reach the rooms", _managed),
    Probe(
        "leaks.ancestors",
        "Nothing above this workspace reaches a room",
        _ancestors,
        needs=("system.home",),
    ),
    Probe(
        "leaks.variables",
        "Variables that move a program's state, or hold a key, stay out",
        _variables,
    ),
    Probe(
        "leaks.config",
        "The configuration opens nothing more",
        _chosen,
        needs=("state.configuration",),
    ),
    Probe(
        "leaks.home",
        "What programs obey in your home stays out",
        _home,
        needs=("system.home", "system.network-settings", "state.configuration", "state.memory"),
    ),
    Probe("leaks.machine", "What every program of this machine can see", _machine),
)
