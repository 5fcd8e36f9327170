"""The agents' real programs, in the versions that are asked for."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from homeroom import paths
from homeroom.testing import versions
from homeroom.toolchain import store
from homeroom.toolchain.pins import load
from homeroom.toolchain.store import TOOLCHAIN_VARIABLE, Toolchain

# What answers the agents.
SERVER = "model-server"


class Agent(NamedTuple):
    """One agent in one version."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


class Part(NamedTuple):
    """Files of one tool: their directory, where that lies below the root, and the program."""

    source: Path
    place: Path
    program: Path


def pinned(toolchain: Toolchain, name: str) -> Agent:
    """Give an agent as the toolchain has it."""
    return Agent(name, toolchain.tools[name].version)


def gather(
    agents: tuple[Agent, ...], toolchain: Toolchain, scratch: Path
) -> Iterator[tuple[Agent, Part]]:
    """Find the files of agents, and of the server that answers them.

    Args:
        agents: Which; one that is not pinned is fetched by the pinned npm.
        toolchain: The installed one.
        scratch: Where others than the pinned ones are put.

    Raises:
        ToolError: There is no such version.
    """
    for agent in agents:
        if agent == pinned(toolchain, agent.name):
            yield agent, _pinned_part(toolchain, agent.name)
        else:
            root = scratch / f"{agent.name}-{agent.version}"
            if not root.exists():
                versions.main(root, {agent.name: agent.version}, os.environ)
            environ = {**os.environ, TOOLCHAIN_VARIABLE: str(root)}
            other = store.require(paths.locate(environ), environ)
            place = Path("other", root.name)
            program = other.tools[agent.name].path.relative_to(other.root)
            yield agent, Part(other.root / place, place, program)
    if agents:
        yield pinned(toolchain, SERVER), _pinned_part(toolchain, SERVER)


def _pinned_part(toolchain: Toolchain, name: str) -> Part:
    """Give a tool's package as a whole: its program may call others beside it."""
    program = toolchain.tools[name].path
    package = program.parents[len(Path(load().tools[name].build.file).parts) - 1]
    root = toolchain.root
    return Part(package, package.relative_to(root), program.relative_to(root))
