"""A machine on which all is well, to break one thing of, and what ``check`` says of it."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from homeroom import home, provider
from homeroom.choice import variables
from homeroom.paths import Paths, locate
from homeroom.testing.toolchain import with_tools
from homeroom.toolchain.store import TOOLCHAIN_VARIABLE, Toolchain
from tests.support.cli import homeroom_argv

AGENT = provider.DEFAULT
# What is no news: a probe that had nothing to look at, or waits for another to be mended.
QUIET = ("ok", "skipped")
# Becomes root of a user namespace, where mounts and limits are this process's own.
NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")

Wrap = Callable[[list[str]], list[str]]


@dataclass(frozen=True)
class Machine:
    """Where ``check`` runs.

    Attributes:
        env: Its whole environment.
        cwd: The workspace.
        wrap: Puts the command into something.
    """

    env: dict[str, str]
    cwd: Path
    wrap: Wrap = field(default=list)

    @property
    def home(self) -> Path:
        return Path(self.env["HOME"])

    @property
    def paths(self) -> Paths:
        return locate(self.env)

    def with_env(self, **more: str | Path) -> Self:
        return replace(self, env=self.env | {name: os.fspath(more[name]) for name in more})

    def without_env(self, *names: str) -> Self:
        return replace(self, env={name: self.env[name] for name in self.env if name not in names})

    def inside(self, script: str, *words: str | Path) -> Self:
        """Run in namespaces of its own, after a script that has the command as ``"$@"``.

        Args:
            script: For sh; the given words are $1, $2 ... until it has shifted them away.
            words: What the script needs.
        """
        given = [os.fspath(word) for word in words]
        before = [*NAMESPACE, "sh", "-ec", script, "sh", *given]
        return replace(self, wrap=lambda command: [*before, *command])

    def check(self, *arguments: str, status: int | None = None) -> dict[str, Any]:
        """Run the command and return its JSON document."""
        done = self.run("--json", *arguments)
        assert done.stdout, done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        assert document["exit_status"] == done.returncode
        if status is not None:
            assert done.returncode == status, found(document)
        return document

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.wrap(homeroom_argv("check", *arguments)),
            env=self.env,
            cwd=self.cwd,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )


def found(document: Mapping[str, Any]) -> dict[str, str]:
    """List the probes that have news, with what they saw."""
    return {
        probe["name"]: f"{probe['verdict']}: {probe['seen']}"
        for probe in document["probes"]
        if probe["verdict"] not in QUIET
    }


def verdicts(document: Mapping[str, Any]) -> dict[str, str]:
    return {probe["name"]: probe["verdict"] for probe in document["probes"]}


def well(env: Mapping[str, str], workspace: Path) -> Machine:
    """Give a machine on which no probe has news: each agent has a key."""
    keys = {
        name: provider.get(agent).demo_credential().secret.reveal()
        for agent in provider.names()
        for name, kind in variables(agent).items()
        if kind == "api-key"
    }
    return Machine({**env, **keys}, workspace)


def path_without(directory: Path, *programs: str, of: str) -> str:
    """Make a PATH that has everything but some programs."""
    directory.mkdir()
    for place in of.split(os.pathsep):
        for entry in os.scandir(place) if os.path.isdir(place) else ():
            if entry.name not in programs and not os.path.lexists(directory / entry.name):
                os.symlink(entry.path, directory / entry.name)
    return str(directory)


def script(path: Path, text: str) -> Path:
    """Write a program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def copied(machine: Machine, root: Path, toolchain: Toolchain) -> tuple[Machine, Path]:
    """Give the machine a toolchain of its own, whose files are links: replace, do not write."""
    root.mkdir(mode=0o700)
    return machine.with_env(**{TOOLCHAIN_VARIABLE: with_tools(root, toolchain, {})}), root


def patched(path: Path, *changes: tuple[str, str]) -> None:
    """Change a text in a file that others may have a link to."""
    text = path.read_text(encoding="utf-8")
    for before, after in changes:
        assert before in text, f"{path} has no {before!r}"
        text = text.replace(before, after)
    mode = path.stat().st_mode
    path.unlink()
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


def tool(root: Path, toolchain: Toolchain, name: str) -> Path:
    """Find a tool of a toolchain in its copy."""
    return root / toolchain.tools[name].path.relative_to(toolchain.root)


def which(name: str) -> str:
    program = shutil.which(name)
    assert program, f"{name} is not installed"
    return program


# What takes seconds, and has no part in what a situation is about.
TRIALS = ("sandbox", "toolchain.hashes", "toolchain.runs")


def assert_only(
    machine: Machine,
    *probes: str,
    verdict: str = "fail",
    says: str = "",
    without: tuple[str, ...] = (),
) -> None:
    """Run everything but the real starts of agents, which wait for all the rest."""
    passed_over = [word for name in ("onboarding", *without) for word in ("--skip", name)]
    document = machine.check(*passed_over)
    assert set(found(document)) == set(probes), found(document)
    for probe in probes:
        assert verdicts(document)[probe] == verdict
        assert says in found(document)[probe]
    assert document["exit_status"] == {"warn": 0, "fail": 1, "broken": 2}[verdict]


def own_file(machine: Machine) -> Path:
    """Where the agent's CLI keeps its login."""
    store = provider.get(AGENT).master_store(machine.env, machine.home)
    return next(path for path in store.secrets if path.name == ".credentials.json")


def write_state(machine: Machine, name: str, text: str, *, age: float = 0.0) -> Path:
    path = machine.paths.state / name
    for directory in reversed(path.parents):
        if not directory.exists():
            directory.mkdir(mode=0o700)
    path.touch(mode=0o600)
    path.write_text(text)
    if age:
        then = path.stat().st_mtime - age
        os.utime(path, (then, then))
    return path


def orphan(machine: Machine) -> home.Instance:
    instance = home.instance_of(machine.paths, home.new_run_id())
    home.materialize(instance)
    write_state(machine, f"runs/{instance.run_id}.lock", "", age=3600)
    os.utime(instance.root, (1e9, 1e9))
    return instance
