"""The container engine: reaching it, running cells with few rights, and leaving nothing behind."""

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from homeroom.errors import ToolError
from homeroom.session.engine import data
from matrix import owner
from matrix.catalogue import User
from matrix.grid import Cell, Try
from matrix.suite import Suite

if TYPE_CHECKING:
    import docker

# The one that rooms in containers have.
SECCOMP = data("seccomp.json")
# What srt needs as root in a container besides what a plain user needs (measured): the
# file capability of its helper (0.0.83), mounts and a network namespace (0.0.30).
_ROOT_RIGHTS = (
    *("SETFCAP", "SYS_ADMIN", "NET_ADMIN", "SETUID", "SETGID"),
    *("DAC_OVERRIDE", "FOWNER", "CHOWN"),
)
_ANSWER_LIMIT = 120
_TRIED = "homeroom.matrix.tried"


def connect() -> "docker.DockerClient":
    """Reach the engine that ``DOCKER_HOST`` names, or the local one.

    Raises:
        ToolError: There is none, it may not be used, or it runs other programs than the
            pinned ones here; it says what to do.
    """
    import docker
    from docker.errors import DockerException

    try:
        client = docker.from_env(timeout=_ANSWER_LIMIT)
        client.ping()
        machine = client.info()
    except (DockerException, OSError) as error:
        raise ToolError(f"no container engine answers: {_first_line(error)}", _way(error)) from None
    theirs = (machine.get("OSType", ""), _machine(machine.get("Architecture", "")))
    ours = (os.uname().sysname.lower(), _machine(os.uname().machine))
    if theirs != ours:
        raise ToolError(
            f"the engine runs {'/'.join(theirs)}, and the pinned tools here are for"
            f" {'/'.join(ours)}",
            "run the matrix on a machine of the engine's own kind",
        )
    return client


def _machine(name: str) -> str:
    # Docker says what uname(2) does, podman what Go does.
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)


def _way(error: Exception) -> str:
    if "Permission denied" in str(error):
        return "let your user in: add it to the engine's group (docker), or use rootless podman"
    return "start dockerd or podman's service, or set DOCKER_HOST to the socket of one"


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


class Engine:
    """Cells, one container each, all of them gone at the end however it ends.

    Args:
        client: The container engine.
        limit: How long a cell may take, in seconds.
        logs: Where each cell's whole output is kept.
    """

    def __init__(self, client: "docker.DockerClient", *, limit: int, logs: Path) -> None:
        self._client = client
        self._limit = limit
        self._logs = logs
        self._lock = threading.Lock()
        self._running: set[str] = set()
        self._ended = False
        parts = client.version().get("Components", [])
        self._is_podman = any(part["Name"].startswith("Podman") for part in parts)

    @contextlib.contextmanager
    def session(self) -> Iterator["Engine"]:
        """Remove every container that is left when the context is left."""
        try:
            yield self
        finally:
            # Under the lock no container is being made, and afterwards none is.
            with self._lock:
                self._ended = True
                left = list(self._running)
            for identity in left:
                self._remove(identity)

    def run(self, image: str, tried: Try, suite: Suite) -> Cell:
        """Run one cell.

        Args:
            image: The image's id.
            tried: What to try.
            suite: Which of the hermetic tests to run, if srt alone is tried.

        Returns:
            What it saw, or why it did not run.
        """
        begin = time.monotonic()
        log = self._logs / f"{tried.stem}-{tried.user}.log"
        words: list[str] = [suite] if tried.agent is None else ["agent", tried.agent.name]
        try:
            with self._container(image, tried, words) as identity:
                output, problem = self._outcome(identity, log)
        except Exception as error:  # noqa: BLE001
            return Cell(tried, {}, time.monotonic() - begin, _first_line(error))
        seconds = time.monotonic() - begin
        try:
            told = json.loads(output)
            return Cell(tried, told["seen"], seconds, packages=told["packages"])
        except (ValueError, KeyError, TypeError):
            return Cell(tried, {}, seconds, f"{problem} (see {log})")

    @contextlib.contextmanager
    def _container(self, image: str, tried: Try, words: list[str]) -> Iterator[str]:
        user = tried.user
        api = self._client.api
        host = api.create_host_config(**_rights(user, is_podman=self._is_podman))
        # The command line calls this systempaths=unconfined; the SDK has no name for it.
        # Without it bubblewrap may not mount a /proc of its own.
        host |= {"MaskedPaths": [], "ReadonlyPaths": []}
        with self._lock:
            if self._ended:
                raise RuntimeError("the matrix has ended")
            made = api.create_container(
                image,
                words,
                user="root" if user == "root" else "room",
                host_config=host,
                labels={owner.LABEL: owner.name(), _TRIED: str(tried)},
            )
            identity = str(made["Id"])
            self._running.add(identity)
        try:
            api.start(identity)
            yield identity
        finally:
            self._remove(identity)

    def _outcome(self, identity: str, log: Path) -> tuple[str, str]:
        """Wait for a container; keep its log; give its output and how it ended."""
        from requests.exceptions import ConnectionError as Unreachable
        from requests.exceptions import ReadTimeout

        api = self._client.api
        try:
            problem = f"status {api.wait(identity, timeout=self._limit)['StatusCode']}"
        except (ReadTimeout, Unreachable):
            api.kill(identity)
            problem = f"no end within {self._limit} seconds"
        output, errors = (
            api.logs(identity, stdout=out, stderr=not out).decode(errors="replace")
            for out in (True, False)
        )
        log.write_text(f"{problem}\n--- stdout\n{output}\n--- stderr\n{errors}\n", encoding="utf-8")
        if problem == "status 1" and errors.strip():
            problem = errors.strip().splitlines()[-1]
        return output, problem

    def _remove(self, identity: str) -> None:
        _remove(self._client, identity)
        with self._lock:
            self._running.discard(identity)


def _remove(client: "docker.DockerClient", identity: str) -> None:
    from docker.errors import APIError

    # It may be gone, or on its way: what is wanted is that it is not there.
    with contextlib.suppress(APIError):
        client.api.remove_container(identity, force=True, v=True)


def _rights(user: User, *, is_podman: bool) -> dict[str, Any]:
    # podman reads the profile itself, from this machine, and has a word for the masks.
    profile = str(SECCOMP) if is_podman else json.dumps(json.loads(SECCOMP.read_bytes()))
    more = ["unmask=ALL"] if is_podman else []
    rights: dict[str, Any] = {
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges", f"seccomp={profile}", *more],
        "read_only": True,
        "init": True,
        # Loopback alone: what a cell connects to is a server of its own.
        "network_mode": "none",
        "pids_limit": 512,
        "mem_limit": "2g",
        # An engine's own may be above what the machine lets it give.
        "ulimits": [{"Name": each, "Soft": 4096, "Hard": 4096} for each in ("nofile", "nproc")],
        "tmpfs": {"/tmp": "mode=1777,exec"},  # noqa: S108
    }
    if user == "root":
        rights["cap_add"] = list(_ROOT_RIGHTS)
    return rights


def remove_leftovers(client: "docker.DockerClient") -> int:
    """Remove the containers of matrices that were killed, and of no other.

    Args:
        client: The container engine.

    Returns:
        How many there were.
    """
    listed = client.api.containers(all=True, filters={"label": owner.LABEL})
    left = [each["Id"] for each in listed if owner.is_gone(each["Labels"][owner.LABEL])]
    for identity in left:
        _remove(client, identity)
    return len(left)
