"""Rooms in containers of a real engine."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.errors import NotFound

from homeroom.session import engine
from matrix import image
from tests.conftest import PrivateHome
from tests.life.conftest import Life, _watched, life_server, life_slow_server
from tests.support.model_server import ModelServer
from tests.support.runs import leftovers

__all__ = ["life_server", "life_slow_server"]


@pytest.fixture(scope="session")
def client() -> Iterator["docker.DockerClient"]:
    with engine.connected(engine.address(os.environ)) as found:
        image.ensure_base(found, None, print)
        yield found


class Contained(Life):
    """homeroom in one private home, whose runs are all in containers."""

    def start(self, *arguments: str | Path, **more: Any) -> Any:
        return super().start("--session", "container", *arguments, **more)

    def left(self) -> list[str]:
        """List what is left of runs; the socket of the tmux server stays as long as that."""
        return [path for path in leftovers(self.home.root) if not path.endswith("/tmux")]

    def containers(self, client: "docker.DockerClient") -> list[dict[str, Any]]:
        """List what the engine has of this homeroom, as it describes each."""
        label = f"{engine.HOME_LABEL}={self.state}"
        found = []
        for each in client.api.containers(all=True, filters={"label": label}):
            with suppress(NotFound):
                found.append(client.api.inspect_container(each["Id"]))
        return found


def _contained(
    client: "docker.DockerClient", home: PrivateHome, workspace: Path, url: str
) -> Iterator[Contained]:
    address = engine.address(os.environ)
    life = Contained(home.with_env(DOCKER_HOST=address), workspace, url)
    try:
        yield from _watched(life)  # type: ignore[misc]
        assert life.containers(client) == []
        notes = life.state / "containers"
        assert not notes.exists() or list(notes.iterdir()) == []
    finally:
        for left in life.containers(client):
            client.api.remove_container(left["Id"], force=True)


@pytest.fixture
def contained(
    client: "docker.DockerClient",
    ready_home: PrivateHome,
    workspace: Path,
    life_server: ModelServer,
) -> Iterator[Contained]:
    """Runs in containers. Nothing may be left of them, in the engine neither."""
    yield from _contained(client, ready_home, workspace, life_server.url)


@pytest.fixture
def slow(
    client: "docker.DockerClient",
    ready_home: PrivateHome,
    workspace: Path,
    life_slow_server: ModelServer,
) -> Iterator[Contained]:
    """The same with a model that does not get to an end."""
    yield from _contained(client, ready_home, workspace, life_slow_server.url)
