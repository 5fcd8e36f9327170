"""A container engine that does what a test says."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from docker.errors import APIError, ImageNotFound, NotFound
from requests import Response

from tests.matrix.cells import GOOD

TOLD = json.dumps({"seen": GOOD, "packages": [["npm", "zod", "3.25.0"]]}).encode()


def refusal(explanation: str, status: int = 500) -> APIError:
    """Make what the SDK raises when the engine refuses."""
    response = Response()
    response.status_code = status
    return APIError(explanation, response=response, explanation=explanation)


class FakeApi:
    """The low-level calls; containers are names in ``there``."""

    def __init__(self) -> None:
        self.there: dict[str, dict[str, Any]] = {}
        self.images_there: dict[str, dict[str, Any]] = {}
        self.in_use: set[str] = set()
        self.started: Callable[[str], None] = lambda _: None
        self.waited: Callable[[str, float], int] = lambda _, __: 0
        self.output, self.errors = TOLD, b""

    def create_host_config(self, **rights: Any) -> dict[str, Any]:
        return dict(rights)

    def create_container(self, image: str, words: list[str], **settings: Any) -> dict[str, str]:
        identity = f"c{len(self.there)}"
        self.there[identity] = {"Image": image, "Words": words, **settings}
        return {"Id": identity}

    def start(self, identity: str) -> None:
        self.started(identity)

    def wait(self, identity: str, timeout: float) -> dict[str, int]:
        return {"StatusCode": self.waited(identity, timeout)}

    def logs(self, _identity: str, *, stdout: bool, stderr: bool) -> bytes:
        assert stdout != stderr
        return self.output if stdout else self.errors

    def kill(self, identity: str) -> None:
        assert identity in self.there

    def remove_container(self, identity: str, *, force: bool, v: bool) -> None:
        assert force
        assert v
        if identity not in self.there:
            raise NotFound("no such container")
        del self.there[identity]

    def containers(self, *, all: bool, filters: dict[str, str]) -> list[dict[str, Any]]:  # noqa: A002
        assert all
        return [
            {"Id": identity, "Labels": made["labels"]}
            for identity, made in self.there.items()
            if filters["label"] in made["labels"]
        ]

    def images(self, *, filters: dict[str, list[str]]) -> Iterator[dict[str, Any]]:
        for identity, made in list(self.images_there.items()):
            found = {*made["Labels"], *(f"{k}={v}" for k, v in made["Labels"].items())}
            if found.issuperset(filters["label"]):
                yield {"Id": identity, **made}

    def remove_image(self, identity: str, *, force: bool) -> None:
        assert force
        if identity in self.in_use:
            raise refusal("image is being used by running container", 409)
        del self.images_there[identity]


class FakeImages:
    """The images that are there, and how a build of another ends."""

    def __init__(self, there: set[str]) -> None:
        self.there = there
        self.labels: dict[str, str] = {}
        self.built: Callable[..., Any] = lambda **_: None

    def get(self, name: str) -> Any:
        if name not in self.there:
            raise ImageNotFound(name)
        return type("Image", (), {"id": f"sha256:{name}", "labels": self.labels})()

    def build(self, **settings: Any) -> Any:
        return self.built(**settings)


class FakeClient:
    """A client of it."""

    def __init__(self, *images: str) -> None:
        self.api = FakeApi()
        self.images = FakeImages(set(images))
        self.machine: dict[str, str] = {}
        self.logs: Path | None = None

    def ping(self) -> bool:
        return True

    def version(self) -> dict[str, Any]:
        return {"Components": [{"Name": "Engine"}]}

    def info(self) -> dict[str, str]:
        return self.machine
