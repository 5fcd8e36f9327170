"""What a run may read and write, from the user's places and their configuration."""

import contextlib
import os
import pwd
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from homeroom import memory, policy, provider
from homeroom.config import Config
from homeroom.errors import ConfigError, StateError
from homeroom.home import Instance
from homeroom.paths import MEMORY_VARIABLE, Paths
from homeroom.policy import Policy
from homeroom.sandbox.srt import SHARED
from homeroom.workspace import Workspace

# Files that hold secrets of the user's on many machines: where they exist, the prelude
# proves that the run cannot read them.
_TELLTALE = (
    ".aws/credentials",
    ".config/gh/hosts.yml",
    ".git-credentials",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".ssh/id_ecdsa",
    ".ssh/id_ed25519",
    ".ssh/id_rsa",
)


class Ground(msgspec.Struct, frozen=True):
    """The user's places, as far as a run must be kept out of them.

    Attributes:
        homes: The user's homes, real; the environment's first.
        private: What no run may see, whatever the user allows: homeroom's own
            directories, and the store of every agent, not just of the one that runs.
        secrets: Files in these stores that hold a credential.
    """

    homes: tuple[Path, ...]
    private: tuple[Path, ...]
    secrets: tuple[Path, ...]


def survey(environ: Mapping[str, str], paths: Paths) -> Ground:
    """Find the user's places.

    Args:
        environ: The caller's environment.
        paths: homeroom's directories.

    Raises:
        StateError: There is no home, or it is the file system's root.
    """
    homes = user_homes(environ)
    stores = [provider.get(name).master_store(environ, homes[0]) for name in provider.names()]
    roots = (Path(os.path.realpath(root)) for store in stores for root in store.roots)
    in_memory = policy.existing(memory.known(paths))
    own = (paths.state, paths.data, paths.config, paths.temp, *in_memory)
    secrets = tuple(path for store in stores for path in store.secrets)
    return Ground(homes, tuple(dict.fromkeys((*own, *roots))), secrets)


def user_homes(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Tell the user's home directories, real and each once.

    Args:
        environ: The caller's environment.

    Returns:
        ``$HOME`` first, then the password file's: programs read ``~/.ssh`` of that one.

    Raises:
        StateError: There is none, or it is the file system's root.
    """
    found = [environ["HOME"]] if environ.get("HOME") else []
    # A uid that the password file does not know has a HOME at most.
    with contextlib.suppress(KeyError):
        found.append(pwd.getpwuid(os.geteuid()).pw_dir)
    homes = tuple(dict.fromkeys(Path(os.path.realpath(path)) for path in found))
    if not homes or Path("/") in homes[:1]:
        raise StateError("HOME is not set to a directory of your own", "set HOME, then try again")
    return tuple(path for path in homes if path != Path("/"))


def decide(
    ground: Ground,
    place: Workspace,
    instance: Instance,
    tools: Path,
    config: Config,
    environ: Mapping[str, str],
    *,
    hosts: tuple[str, ...],
) -> Policy:
    """Decide a run's policy.

    Args:
        ground: What the run is kept out of.
        place: Where it works.
        instance: Its places.
        tools: The toolchain's directory.
        config: What the user allows and denies.
        environ: The caller's environment.
        hosts: What the agent must reach.

    Returns:
        The policy. What the user denies stays denied within what a run may otherwise read.

    Raises:
        ConfigError: The user's paths would open what no run may see.
    """
    # Where a login session has it too: a run may be started from where none is.
    named = (environ.get(MEMORY_VARIABLE, ""), f"/run/user/{os.geteuid()}")
    sockets = policy.existing(Path(path) for path in named if os.path.isabs(path))
    denied = policy.reduced((*ground.homes, *ground.private, *sockets))
    own = (instance.home, instance.tmp, place.root, *place.git_directories)
    writable = policy.reduced((*own, *_configured(ground, config, "write")))
    readable = (instance.runtime, instance.control, tools, *_configured(ground, config, "read"))
    return Policy(
        deny_read=tuple(dict.fromkeys((*denied, *_configured(ground, config, "deny")))),
        allow_read=(*writable, *policy.around(readable, writable)),
        allow_write=writable,
        deny_write=(*place.guarded(), *policy.existing([SHARED])),
        hosts=tuple(dict.fromkeys((*hosts, *config.network.allow))),
    )


def _configured(
    ground: Ground, config: Config, kind: Literal["read", "write", "deny"]
) -> tuple[Path, ...]:
    """Resolve the user's own paths; what would open a secret place is refused."""
    entries: tuple[str, ...] = getattr(config.files, kind)
    resolved = policy.existing(
        ground.homes[0] / entry[2:] if entry.startswith("~/") else Path(entry) for entry in entries
    )
    if kind == "deny":
        return resolved
    for path in resolved:
        for other in ground.private:
            if path.is_relative_to(other) or other.is_relative_to(path):
                raise ConfigError(
                    f"files.{kind}: {path} would open {other}, which no run may see",
                    "name narrower directories",
                )
    return resolved


def telltales(ground: Ground, rules: Policy) -> list[Path]:
    """Name existing files with secrets that the policy keeps from the run."""
    listed = (user / name for user in ground.homes for name in _TELLTALE)
    found: list[Path] = []
    for path in (*ground.secrets, *listed):
        real = Path(os.path.realpath(path))
        # Not by Path.is_file: it raises where a directory on the way may not be entered.
        if os.path.isfile(real) and os.access(real, os.R_OK) and not rules.is_readable(real):
            found.append(real)
    return list(dict.fromkeys(found))


def obeyed_names() -> tuple[str, ...]:
    """Name files in a work tree that any of the agents obeys when it finds them."""
    found = (name for agent in provider.names() for name in provider.get(agent).surfaces().obeyed)
    return tuple(dict.fromkeys(found))
