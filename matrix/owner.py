"""Whose a container is, so that what a killed matrix left is told from what another one runs."""

import os
import platform

from homeroom import process

# On a container alone: what an image is labelled with, every container of it inherits.
LABEL = "homeroom.matrix.owner"


def name() -> str:
    """Name this process: the machine, its pid, and what tells it from the pid's next holder."""
    pid = os.getpid()
    return f"{platform.node()}/{pid}/{process.identity(pid)}"


def is_gone(owner: str) -> bool:
    """Tell whether the process that made a container lives no more.

    Args:
        owner: What ``name`` said there; of another machine it is taken to live, since
            several may share an engine.
    """
    machine, _, rest = owner.partition("/")
    pid, _, identity = rest.partition("/")
    if machine != platform.node() or not pid.isdigit():
        return False
    return process.identity(int(pid)) != identity
