"""What a run's container is: decided before anything is made, and put in the engine's words."""

import os
import pwd
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from homeroom.errors import SandboxError, WorkspaceError
from homeroom.files import create_private, explain
from homeroom.home import Instance
from homeroom.session import engine

_LOOPBACK = re.compile(r"(?:localhost|127(?:\.[0-9]+){3}|\[::1\])(?::[0-9]+)?", re.IGNORECASE)


class Housing(msgspec.Struct, frozen=True):
    """A container, decided in full.

    Attributes:
        address: The engine's.
        image: The image's name.
        writable: What is mounted at the same path, and can be written to.
        readable: What is mounted at the same path, read-only.
        network: The engine's own network, or this machine's: where the room must reach a
            server on this machine's loopback device, which no other network leads to.
        memory: The most memory, as the engine writes it.
        processes: The most processes.
    """

    address: str
    image: str
    writable: tuple[Path, ...]
    readable: tuple[Path, ...]
    network: Literal["bridge", "host"]
    memory: str
    processes: int


def mounts(
    instance: Instance, writable: Iterable[Path], readable: Iterable[Path]
) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Decide what of this machine is in a container.

    Args:
        instance: The run's places.
        writable: What its policy lets it write to.
        readable: What its policy lets it read within what is denied.

    Returns:
        What is mounted to be written to, and what read-only, each at its own path. The
        canary and the settings are among the latter, so that the proof has something to
        prove; what lies in a writable one is not mounted once more.
    """
    own = (instance.home, instance.temp)
    first = tuple(dict.fromkeys((*own, *writable)))
    first = tuple(a for a in first if not any(a != b and a.is_relative_to(b) for b in first))
    rest = dict.fromkeys((instance.root, *readable))
    second = tuple(
        a
        for a in rest
        if not any(a.is_relative_to(b) for b in first)
        and not any(a != b and a.is_relative_to(b) for b in rest)
    )
    return first, second


def refuse_socket(housing: Housing) -> None:
    """Refuse to mount the engine's own socket, which is as good as root on this machine.

    Args:
        housing: The container.

    Raises:
        WorkspaceError: It lies in what is mounted.
    """
    socket = Path(os.path.realpath(housing.address.removeprefix("unix://")))
    for path in (*housing.writable, *housing.readable):
        if socket.is_relative_to(path):
            raise WorkspaceError(
                f"the container engine's socket {socket} lies in {path}, which a run would see",
                "work in another directory, or name narrower ones in files.read and files.write",
            )


def identities(housing: Housing) -> dict[Path, tuple[int, int]]:
    """Tell which very files and directories shall be mounted.

    Args:
        housing: The container.

    Returns:
        Device and inode of each, by path.

    Raises:
        SandboxError: One is gone, or has become a symlink since it was decided upon.
    """
    found = {}
    for path in (*housing.writable, *housing.readable):
        try:
            status = os.lstat(path)
        except OSError as error:
            raise SandboxError(f"{path} cannot be mounted: {error.strerror}") from error
        if os.path.realpath(path) != str(path):
            raise SandboxError(f"{path} cannot be mounted: it is or lies behind a symlink")
        found[path] = (status.st_dev, status.st_ino)
    return found


def verify(meant: Mapping[Path, tuple[int, int]], pid: int) -> None:
    """Refuse a container in which something else is mounted than what was meant.

    The engine, which is root, follows the symlinks that it finds when it mounts; and another
    run may have put one on the way in the meantime.

    Args:
        meant: What ``identities`` found.
        pid: A process in the container.

    Raises:
        SandboxError: A path leads to another file in there.
    """
    for path, identity in meant.items():
        try:
            status = os.stat(f"/proc/{pid}/root{path}")
        except OSError as error:
            raise SandboxError(f"{path} is not in the container: {error.strerror}") from error
        if (status.st_dev, status.st_ino) != identity:
            raise SandboxError(f"{path} has become another file in the container")


def network(reached: Iterable[str]) -> Literal["bridge", "host"]:
    """Choose the least network from which a run gets where it may.

    Args:
        reached: Hosts, with or without port, that it or the proxy above it must reach.

    Returns:
        The engine's own, which keeps this machine's servers and abstract sockets out of
        reach; this machine's only when one of its own loopback servers is among them.
    """
    return "host" if any(_LOOPBACK.fullmatch(each) for each in reached) else "bridge"


def rights(housing: Housing, instance: Instance) -> dict[str, Any]:
    """Give a container what srt was measured to need, and nothing else.

    Args:
        housing: What it shall be.
        instance: The run's places.

    Returns:
        The engine's host configuration.
    """
    from docker.types import Mount

    mounts = [
        Mount(str(path), str(path), type="bind", read_only=read_only)
        for paths, read_only in ((housing.readable, True), (housing.writable, False))
        for path in paths
    ]
    for name in ("passwd", "group"):
        source = str(instance.runtime / name)
        mounts.append(Mount(f"/etc/{name}", source, type="bind", read_only=True))
    profile = engine.data("seccomp.json").read_text(encoding="utf-8")
    given: dict[str, Any] = {
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges", f"seccomp={profile}"],
        "read_only": True,
        "privileged": False,
        "network_mode": housing.network,
        "mem_limit": housing.memory,
        "memswap_limit": housing.memory,
        "pids_limit": housing.processes,
        "mounts": mounts,
        "tmpfs": {"/tmp": "mode=1777,exec,nosuid,nodev"},  # noqa: S108
        # What is said to the user never passes through the engine: see container_init.
        "log_config": {"Type": "json-file", "Config": {"max-size": "1m"}},
    }
    if os.geteuid() == 0:
        # The kernel lets nobody map root into a user namespace without (user_namespaces(7)).
        given["cap_add"] = ["SETFCAP"]
    return given


def write_accounts(instance: Instance) -> None:
    """Write who is who in the container: programs look up their own user.

    Args:
        instance: The run's places.

    Raises:
        HomeroomError: It cannot be written.
    """
    uid, gid = os.geteuid(), os.getegid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = "room"
    users = {0: f"root:x:0:0::{instance.home}:/bin/bash"}
    users[uid] = f"{name}:x:{uid}:{gid}::{instance.home}:/bin/bash"
    groups = {0: "root:x:0:", gid: f"{name}:x:{gid}:"}
    try:
        for path, lines in (("passwd", users), ("group", groups)):
            text = "".join(f"{line}\n" for line in lines.values())
            create_private(instance.runtime / path, text.encode())
    except OSError as error:
        raise explain(error, error.filename or instance.runtime, "write") from error
