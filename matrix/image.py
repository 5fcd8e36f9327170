"""The images: one base, one layer of tools, and one small layer for each version of srt."""

import contextlib
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from homeroom import __version__
from homeroom.errors import HomeroomError, StorageError, ToolError, UsageError
from homeroom.toolchain import child
from matrix.context import ROOT, Context, Recipe

if TYPE_CHECKING:
    import docker

BASE = "homeroom-base:bookworm"
ROOM = f"homeroom:{__version__}"
_NAME = "homeroom-srt"
_KEY, _VERSION = "homeroom.key", "homeroom.srt"
_AGENTS, _TARGET = "homeroom.agents", "homeroom.target"
_OURS, _BASE_LABEL = "homeroom.matrix", "homeroom.base"
_HOUR = 3600.0


def ensure_base(
    client: "docker.DockerClient", image: str | None, tell: Callable[[str], None]
) -> str:
    """Make sure that the base image is there.

    Args:
        client: The engine.
        image: A base of the user's; None for the one that ``container/base`` makes.
        tell: Says a line about long work.

    Returns:
        Its id, so that what is built on it is pinned by digest.

    Raises:
        UsageError: The user's base is not there: nothing is ever pulled.
        ToolError: It could not be made; the end of what was said is shown.
        StorageError: The disk is full.
    """
    from docker.errors import ImageNotFound

    try:
        # Asked first: a missing image would otherwise be pulled without a word.
        found = client.images.get(image or BASE)
        if image is not None or found.labels.get(_BASE_LABEL) in (None, "container", _recipe()):
            return str(found.id)
    except ImageNotFound:
        if image is not None:
            hint = f"docker pull {image}"
            raise UsageError(f"the base image {image} is not there", hint) from None
    tell("making the base image from Debian's archive (about a minute, once)")
    with tempfile.TemporaryDirectory(prefix="homeroom-matrix-") as name:
        made = Path(name, "base.tar")
        command = [str(ROOT / "container" / "base"), str(made)]
        environ = {**os.environ, "TMPDIR": name}
        ended = child.run(command, Path(name), environ, None, lambda: None)
        if ended.status != 0:
            raise _failure("the base image could not be made", ended.errors)
        return _import(client, made)


def _recipe() -> str:
    """Name how the base is made here, so that one that was made otherwise is made anew."""
    return hashlib.sha256((ROOT / "container" / "base").read_bytes()).hexdigest()[:16]


def _import(client: "docker.DockerClient", tree: Path) -> str:
    from docker.errors import APIError

    repository, _, tag = BASE.partition(":")
    labels = [f'LABEL {_BASE_LABEL}="{_recipe()}"', 'CMD ["bash"]']
    try:
        told = client.api.import_image_from_file(str(tree), repository, tag, changes=labels)
        identity = str(json.loads(told.strip().splitlines()[-1])["status"])
        # podman 4.3 takes no tag with the import.
        client.api.tag(identity, repository, tag)
    except APIError as error:
        raise _failure("the engine refused the base image", str(error.explanation)) from error
    return identity


def find(client: "docker.DockerClient", key: str) -> str | None:
    """Find an image that was made of the same parts.

    Args:
        client: The engine.
        key: Of its parts.

    Returns:
        Its id, or None.
    """
    found = client.images.list(filters={"label": f"{_KEY}={key}"})
    return str(found[0].id) if found else None


def build(
    client: "docker.DockerClient",
    base: str,
    context: Context,
    recipe: Recipe,
    *,
    use_cache: bool = True,
) -> str:
    """Build an image; the layers that others have too come from the engine's cache.

    Args:
        client: The engine.
        base: The base image's id.
        context: What it is made of.
        recipe: What it is to hold.
        use_cache: Whether layers that are there may be taken.

    Returns:
        The image's id.

    Raises:
        ToolError: The build failed; the end of its log is in the message.
        StorageError: The disk is full.
    """
    from docker.errors import APIError, BuildError

    key = context.key(base, recipe)
    arguments = {"BASE_IMAGE": base, "SRT_VERSION": recipe.srt, "HOMEROOM_VERSION": __version__}
    agents = ",".join(map(str, recipe.agents))
    labels = {_KEY: key, _AGENTS: agents, _TARGET: recipe.target}
    is_room = recipe.target == "room"
    try:
        with context.pack(recipe).open("rb") as packed:
            image, _ = client.images.build(
                fileobj=packed,
                custom_context=True,
                dockerfile="Containerfile",
                target=recipe.target,
                buildargs=arguments,
                labels=labels,
                tag=ROOM if is_room else f"{_NAME}:{recipe.srt}-{key}",
                nocache=not use_cache,
                rm=True,
                forcerm=True,
                network_mode="none",
            )
    except BuildError as error:
        log = "".join(str(line.get("stream", line.get("error", ""))) for line in error.build_log)
        raise _failure(f"the image of {recipe} could not be built", log) from error
    except APIError as error:
        raise _failure("the engine refused to build", str(error.explanation)) from error
    like = {_VERSION: recipe.srt, _AGENTS: agents, _TARGET: recipe.target}
    _remove_older(client, like, str(image.id))
    return str(image.id)


def _failure(message: str, log: str) -> HomeroomError:
    said = log.strip()[-600:]
    if "no space left" in log.lower():
        return StorageError(
            f"{message}: the disk is full", "remove images by `nox -s matrix -- --clean`, or others"
        )
    return ToolError(f"{message}:\n{said}")


def _ours(client: "docker.DockerClient", *labels: str) -> Iterator[tuple[str, float]]:
    """Give id and time of making of each image with labels of ours."""
    for image in client.api.images(filters={"label": list(labels)}):
        yield image["Id"], float(image["Created"])


def _remove_older(client: "docker.DockerClient", like: Mapping[str, str], new: str) -> None:
    """Remove what a new image replaces; a young one may be another matrix's."""
    for identity, made in _ours(client, *(f"{name}={value}" for name, value in like.items())):
        if identity != new and time.time() - made > _HOUR:
            _remove(client, identity)


def remove_all(client: "docker.DockerClient") -> int:
    """Remove every image that a matrix made, the base too.

    Args:
        client: The engine.

    Returns:
        How many are gone; one that a container still uses stays.
    """
    from docker.errors import ImageNotFound

    # What a build that was interrupted has made has no version yet.
    found = [identity for label in (_OURS, _BASE_LABEL) for identity, _ in _ours(client, label)]
    with contextlib.suppress(ImageNotFound):
        # podman 4.3 takes no label with the import.
        found.append(str(client.images.get(BASE).id))
    return sum(_remove(client, identity) for identity in dict.fromkeys(found))


def _remove(client: "docker.DockerClient", identity: str) -> bool:
    from docker.errors import APIError

    try:
        client.api.remove_image(identity, force=True)
    except APIError:
        return False
    return True
