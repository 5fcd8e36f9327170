"""Probes of what a private home does not cover: surfaces that every room shares."""

import os
from pathlib import Path

from homeroom import provider
from homeroom.check.model import Finding, Probe, Surroundings, ok, warn

_EXPLAINED = "docs/explanation/sandbox.md"


def _managed(_around: Surroundings) -> Finding:
    surfaces = [path for name in provider.names() for path in provider.get(name).shared_surfaces()]
    found = [path for path in surfaces if os.path.lexists(path)]
    if found:
        return warn(f"settings of this machine reach every room: {', '.join(found)}", _EXPLAINED)
    return ok("no settings of the machine's administrator")


def _ancestors(around: Surroundings) -> Finding:
    here = Path(os.path.realpath(Path.cwd()))
    agents = [provider.get(name) for name in provider.names()]
    names = dict.fromkeys(name for agent in agents for name in agent.inherited_names())
    found = [
        str(directory / name)
        for directory in here.parents
        if not any(home == directory for home in around.homes)
        for name in names
        if os.path.lexists(directory / name)
    ]
    if found:
        return warn(f"above this directory, and read by agents: {', '.join(found)}", _EXPLAINED)
    return ok("nothing above this directory is read by agents")


def _variables(around: Surroundings) -> Finding:
    names = sorted(
        name
        for name in around.environ
        if name.startswith("XDG_") or name.endswith(("_HOME", "_CONFIG_DIR", "_KEY", "_TOKEN"))
    )
    if not names:
        return ok("no variable of yours moves a program's state or holds a key")
    return ok(f"kept out of every room: {', '.join(names)}")


def _chosen(around: Surroundings) -> Finding:
    chosen = around.config
    passed = [f"variable {name}" for name in chosen.environment.inherit]
    opened = [f"reading {path}" for path in chosen.files.read]
    opened += [f"writing {path}" for path in chosen.files.write]
    hosts = [f"host {host}" for host in chosen.network.allow]
    found = [*passed, *opened, *hosts]
    if found:
        return warn(f"every room has, by your config.toml: {', '.join(found)}")
    return ok("config.toml opens nothing")


def _ssh_config(_around: Surroundings) -> Finding:
    found = [path for path in ("/etc/ssh/ssh_config.d", "/etc/gitconfig") if os.path.lexists(path)]
    if found:
        return ok(f"of the machine, readable in every room: {', '.join(found)}")
    return ok("no machine-wide ssh or git configuration")


PROBES = (
    Probe("leaks.managed", "No managed settings reach the rooms", _managed),
    Probe("leaks.ancestors", "Nothing above this directory reaches the rooms", _ancestors),
    Probe(
        "leaks.variables",
        "Variables that move a program's state, or hold a key, stay out",
        _variables,
    ),
    Probe("leaks.config", "The configuration opens nothing more", _chosen),
    Probe("leaks.machine", "Machine-wide ssh and git configuration", _ssh_config),
)
