"""The images: one base, one layer of tools, and one small layer for each version of srt."""

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from homeroom import __version__
from homeroom.errors import HomeroomError, StorageError, ToolError, UsageError
from homeroom.toolchain import child
from matrix.context import ROOT, Context

if TYPE_CHECKING:
    import docker

BASE = "homeroom-base:bookworm"
_NAME = "homeroom-srt"
_KEY, _VERSION = "homeroom.key", "homeroom.srt"
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
        return str(client.images.get(image or BASE).id)
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


def _import(client: "docker.DockerClient", tree: Path) -> str:
    from docker.errors import APIError

    repository, _, tag = BASE.partition(":")
    labels = [f'LABEL {_BASE_LABEL}="true"', 'CMD ["bash"]']
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
    version: str,
    *,
    use_cache: bool = True,
) -> str:
    """Build the image of one version; the layers below it come from the engine's cache.

    Args:
        client: The engine.
        base: The base image's id.
        context: What it is made of.
        version: Of srt.
        use_cache: Whether layers that are there may be taken.

    Returns:
        The image's id.

    Raises:
        ToolError: The build failed; the end of its log is in the message.
        StorageError: The disk is full.
    """
    from docker.errors import APIError, BuildError

    key = context.key(base, version)
    arguments = {"BASE_IMAGE": base, "SRT_VERSION": version, "HOMEROOM_VERSION": __version__}
    try:
        image, _ = client.images.build(
            fileobj=context.pack(version),
            custom_context=True,
            dockerfile="Containerfile",
            buildargs=arguments,
            labels={_KEY: key},
            tag=f"{_NAME}:{version}-{key}",
            nocache=not use_cache,
            rm=True,
            forcerm=True,
            network_mode="none",
        )
    except BuildError as error:
        log = "".join(str(line.get("stream", line.get("error", ""))) for line in error.build_log)
        raise _failure(f"the image of srt {version} could not be built", log) from error
    except APIError as error:
        raise _failure("the engine refused to build", str(error.explanation)) from error
    _remove_older(client, version, str(image.id))
    return str(image.id)


def _failure(message: str, log: str) -> HomeroomError:
    said = log.strip()[-600:]
    if "no space left" in log.lower():
        return StorageError(
            f"{message}: the disk is full", "remove images by `nox -s matrix -- --clean`, or others"
        )
    return ToolError(f"{message}:\n{said}")


def _ours(client: "docker.DockerClient", label: str) -> Iterator[tuple[str, float]]:
    """Give id and time of making of each image with a label of ours."""
    for image in client.api.images(filters={"label": label}):
        yield image["Id"], float(image["Created"])


def _remove_older(client: "docker.DockerClient", version: str, new: str) -> None:
    """Remove what a new image replaces; a young one may be another matrix's."""
    for identity, made in _ours(client, f"{_VERSION}={version}"):
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
