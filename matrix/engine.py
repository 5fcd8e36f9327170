"""Running cells in containers, with no more rights than a sandbox needs."""

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matrix.catalogue import User
from matrix.grid import Cell
from matrix.image import LABEL, ROOT

if TYPE_CHECKING:
    import docker

# What srt needs as root in a container besides what a plain user needs (measured): the
# file capability of its helper (0.0.83), mounts and a network namespace (0.0.30).
_ROOT_RIGHTS = (
    "SETFCAP",
    "SYS_ADMIN",
    "NET_ADMIN",
    "SETUID",
    "SETGID",
    "DAC_OVERRIDE",
    "FOWNER",
    "CHOWN",
)


class Engine:
    """Cells, one container each, all of them gone at the end however it ends.

    Args:
        client: The container engine.
        limit: How long a cell may take, in seconds.
        logs: Where each cell's whole output is kept.
    """

    def __init__(self, client: "docker.DockerClient", *, limit: float, logs: Path) -> None:
        self._client = client
        self._limit = limit
        self._logs = logs
        self._lock = threading.Lock()
        self._running: set[str] = set()
        self._ended = False

    @contextlib.contextmanager
    def session(self) -> Iterator["Engine"]:
        """Remove every container that is left when the context is left."""
        try:
            yield self
        finally:
            with self._lock:
                self._ended = True
                left = list(self._running)
            for identity in left:
                self._remove(identity)

    def run(self, image: str, version: str, user: User) -> Cell:
        """Run one cell.

        Args:
            image: The image's id.
            version: Of srt.
            user: As whom.

        Returns:
            What it saw, or why it did not run.
        """
        begin = time.monotonic()
        try:
            status, output, errors = self._contained(image, user)
        except Exception as error:  # noqa: BLE001
            message = f"{type(error).__name__}: {str(error).splitlines()[0]}"
            return Cell(version, user, {}, time.monotonic() - begin, message)
        seconds = time.monotonic() - begin
        log = self._logs / f"{version}-{user}.log"
        log.write_text(f"status {status}\n--- stdout\n{output}\n--- stderr\n{errors}\n")
        try:
            return Cell(version, user, json.loads(output), seconds)
        except ValueError:
            last = (errors.strip().splitlines() or [f"status {status}"])[-1]
            return Cell(version, user, {}, seconds, f"{last} (see {log})")

    def _contained(self, image: str, user: User) -> tuple[int, str, str]:
        from requests.exceptions import ConnectionError as Unreachable
        from requests.exceptions import ReadTimeout

        api = self._client.api
        host = api.create_host_config(**_rights(user))
        # The command line calls this systempaths=unconfined; the SDK has no name for it.
        # Without it bubblewrap may not mount a /proc of its own.
        host |= {"MaskedPaths": [], "ReadonlyPaths": []}
        with self._lock:
            if self._ended:
                raise RuntimeError("the matrix has ended")
            made = api.create_container(
                image,
                user="root" if user == "root" else "room",
                host_config=host,
                environment={"PYTHONDONTWRITEBYTECODE": "1", "HOMEROOM_HOME": "/home/room/hr"},
                labels={LABEL: "true"},
            )
            identity = str(made["Id"])
            self._running.add(identity)
        try:
            api.start(identity)
            try:
                status = int(api.wait(identity, timeout=self._limit)["StatusCode"])
            except (ReadTimeout, Unreachable):
                api.kill(identity)
                raise TimeoutError(f"no end within {self._limit:.0f} seconds") from None
            output = api.logs(identity, stdout=True, stderr=False).decode(errors="replace")
            errors = api.logs(identity, stdout=False, stderr=True).decode(errors="replace")
            return status, output, errors
        finally:
            self._remove(identity)

    def _remove(self, identity: str) -> None:
        from docker.errors import APIError

        with contextlib.suppress(APIError):
            self._client.api.remove_container(identity, force=True, v=True)
        with self._lock:
            self._running.discard(identity)


def _rights(user: User) -> dict[str, Any]:
    profile = json.dumps(json.loads((ROOT / "container" / "seccomp.json").read_text()))
    rights: dict[str, Any] = {
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges", f"seccomp={profile}"],
        "read_only": True,
        "init": True,
        # Loopback alone: what a cell connects to is a server of its own.
        "network_mode": "none",
        "pids_limit": 512,
        "mem_limit": "2g",
        "tmpfs": {"/tmp": "mode=1777,exec", "/home/room": "uid=1000,gid=1000,mode=0700,exec"},  # noqa: S108
    }
    if user == "root":
        rights["cap_add"] = list(_ROOT_RIGHTS)
        rights["tmpfs"]["/home/room"] = "mode=0700,exec"
    return rights


def remove_leftovers(client: "docker.DockerClient") -> int:
    """Remove containers of earlier matrices that were killed; only those with our label."""
    left = client.containers.list(all=True, filters={"label": f"{LABEL}=true"})
    for container in left:
        container.remove(force=True, v=True)
    return len(left)
