"""The container engine of this machine: reached, judged, and asked to remove what is ours."""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

from homeroom.data import DIRECTORY
from homeroom.errors import ToolError

if TYPE_CHECKING:
    import docker

RUN_LABEL, HOME_LABEL = "homeroom.run", "homeroom.home"
PAGE = "docs/how-to/run-in-a-container.md"
_DEFAULT = "unix:///var/run/docker.sock"
_ANSWER_LIMIT = 60
_REMOVAL_LIMIT = 10.0
_POLL = 0.1


def address(environ: Mapping[str, str]) -> str:
    """Tell where the engine is.

    Args:
        environ: The caller's environment.

    Returns:
        A ``unix://`` address.

    Raises:
        ToolError: ``DOCKER_HOST`` names an engine that need not be on this machine: the
            paths of a room would mean other files there.
    """
    found = environ.get("DOCKER_HOST") or _DEFAULT
    scheme, _, place = found.partition("://")
    if scheme != "unix" or not os.path.isabs(place):
        raise ToolError(
            f"DOCKER_HOST is a {scheme}:// address: a room can only be in a container of this "
            "machine, where its paths are the same",
            "set DOCKER_HOST to unix:// and the path of a local socket, or unset it",
        )
    return found


@contextlib.contextmanager
def answering(doing: str) -> Iterator[None]:
    """Explain what goes wrong while an engine is talked to.

    Args:
        doing: What it is asked to do, for the message.

    Raises:
        ToolError: It does not answer, may not be used, or refused.
    """
    from docker.errors import APIError, DockerException
    from requests.exceptions import RequestException

    try:
        yield
    except APIError as error:
        said = str(error.explanation or error).strip()
        raise ToolError(f"the container engine would not {doing}: {said}", f"see {PAGE}") from error
    except (DockerException, RequestException, OSError) as error:
        raise ToolError(f"no container engine answers: {_cause(error)}", _way(error)) from error


@contextlib.contextmanager
def connected(place: str) -> Iterator["docker.DockerClient"]:
    """Reach an engine, without asking yet whether it suits.

    Args:
        place: Its address.

    Yields:
        A client, closed afterwards.

    Raises:
        ToolError: The Docker SDK is not installed, or there is no engine, or this user may
            not use it.
    """
    try:
        import docker
    except ImportError:
        raise ToolError(
            "a run in a container needs the Docker SDK for Python, which is not installed",
            "pip install 'homeroom[container]', or pipx inject homeroom docker",
        ) from None
    with answering("take a run"):
        # Not by from_env: that would go wherever the process's own variables lead.
        client = docker.DockerClient(base_url=place, timeout=_ANSWER_LIMIT)
        client.ping()
    try:
        yield client
    finally:
        client.close()


def require(client: "docker.DockerClient", image: str) -> str:
    """Refuse an engine or an image in which a room would not be what it is here.

    Args:
        client: The engine.
        image: The image's name.

    Returns:
        The image's id. Nothing is ever pulled.

    Raises:
        ToolError: It says what does not fit, and what to do.
    """
    from docker.errors import ImageNotFound

    with answering("describe itself"):
        machine, version = client.info(), client.version()
    own = os.uname()
    # In a virtual machine, Docker Desktop's for one, neither the processes nor the FIFOs of a
    # run would be seen from both sides.
    if (machine.get("OSType"), machine.get("KernelVersion")) != ("linux", own.release):
        raise ToolError(
            "the container engine does not run on this machine's own kernel but on "
            f"{machine.get('OSType')} {machine.get('KernelVersion')}",
            "use Docker Engine on Linux itself, or start without --session container",
        )
    names = {entry.partition("=")[2].partition(",")[0] for entry in _security(machine)}
    if moved := names & {"rootless", "userns"}:
        raise ToolError(
            f"the container engine maps users ({', '.join(moved)}), so that a room's files "
            "would be somebody else's in there",
            "use an engine that runs as root without userns-remap",
        )
    if any(part.get("Name", "").startswith("Podman") for part in version.get("Components") or []):
        raise ToolError(
            "the engine is Podman, with which no room was tried", "set DOCKER_HOST to Docker's"
        )
    try:
        with answering("look for the image"):
            found = client.images.get(image)
    except ToolError as error:
        if not isinstance(error.__cause__, ImageNotFound):
            raise
        raise ToolError(f"the image {image} is not there", _build(image)) from None
    built_for = _machine(str(found.attrs.get("Architecture", "")))
    if built_for != own.machine:
        raise ToolError(
            f"the image {image} is for {built_for}, and the pinned tools are for {own.machine}",
            "build it on this machine",
        )
    return str(found.id)


def needs_no_apparmor(client: "docker.DockerClient") -> bool:
    """Tell whether the engine's own AppArmor profile would be applied, which denies mounts."""
    with answering("describe itself"):
        return any("apparmor" in entry for entry in _security(client.info()))


def remove(client: "docker.DockerClient", run_id: str, home: Path) -> int:
    """Remove the containers of one run, and no other.

    Args:
        client: The engine.
        run_id: The run.
        home: homeroom's state directory: another homeroom may use the same engine.

    Returns:
        How many there were.

    Raises:
        ToolError: The engine does not answer, or would not remove one.
    """
    labels = [f"{RUN_LABEL}={run_id}", f"{HOME_LABEL}={home}"]
    known: set[str] = set()
    deadline = time.monotonic() + _REMOVAL_LIMIT
    with answering("remove a run's container"):
        while found := client.api.containers(all=True, filters={"label": labels}):
            for each in found:
                known.add(each["Id"])
                _remove(client, each["Id"], is_late=time.monotonic() > deadline)
            time.sleep(_POLL)
    return len(known)


def _remove(client: "docker.DockerClient", identity: str, *, is_late: bool) -> None:
    from docker.errors import APIError, NotFound

    try:
        client.api.remove_container(identity, force=True, v=True)
    except NotFound:
        return
    except APIError as error:
        # Somebody else may be removing it at this moment.
        if is_late or error.status_code != HTTPStatus.CONFLICT:
            raise


def data(name: str) -> Path:
    """Tell where a file about containers is that comes with homeroom."""
    return DIRECTORY / "container" / name


def _security(machine: Mapping[str, object]) -> list[str]:
    found = machine.get("SecurityOptions")
    return [str(entry) for entry in found] if isinstance(found, list) else []


def _machine(name: str) -> str:
    # An image says it as Go does.
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)


def _build(image: str) -> str:
    return f"docker build -t {image} - < {data('base.Containerfile')}"


def _cause(error: BaseException) -> str:
    """Find the system's own word in what the SDK has wrapped several times."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, OSError) and found.strerror:
            return found.strerror
        inner = (*found.args, found.__cause__)
        found = next((each for each in inner if isinstance(each, BaseException)), None)
    return (str(error).splitlines() or [type(error).__name__])[0]


def _way(error: BaseException) -> str:
    if _cause(error) == os.strerror(13):
        return f"who may use it is as good as root: see {PAGE}"
    return "start it (systemctl start docker), or set DOCKER_HOST to its socket"
