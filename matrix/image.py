"""The images: one base, one layer of tools, and one small layer for each version of srt."""

import io
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from homeroom import __version__
from homeroom.errors import ToolError, TryAgainError, UsageError
from homeroom.toolchain.store import Toolchain

if TYPE_CHECKING:
    import docker

ROOT = Path(__file__).parents[1]
LABEL = "homeroom.matrix"
BASE = "homeroom-base:bookworm"
_PACKAGE = "@anthropic-ai/sandbox-runtime"


def connect() -> "docker.DockerClient":
    """Reach the engine that ``DOCKER_HOST`` names, or the local one.

    Raises:
        ToolError: There is none, or it may not be used; it says what to do.
    """
    import docker
    from docker.errors import DockerException

    try:
        client = docker.from_env(timeout=120)
        client.ping()
    except DockerException as error:
        raise ToolError(
            f"no container engine answers: {str(error).splitlines()[0]}",
            "start dockerd (or podman's service) and let your user in, or set DOCKER_HOST",
        ) from error
    machine = client.info().get("Architecture", "")
    if machine not in ("x86_64", "aarch64"):
        raise ToolError(f"the engine runs on {machine}, for which there are no pins")
    return client


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
    """
    from docker.errors import ImageNotFound

    name = image or BASE
    try:
        # Asked first: a missing image would otherwise be pulled without a word.
        return str(client.images.get(name).id)
    except ImageNotFound:
        if image is not None:
            raise UsageError(
                f"the base image {image} is not there", f"docker pull {image}"
            ) from None
    tell("making the base image from Debian's archive")
    made = subprocess.run(
        [str(ROOT / "container" / "base"), name], check=False, capture_output=True, text=True
    )
    if made.returncode != 0:
        raise ToolError(f"the base image could not be made: {made.stderr.strip()[-400:]}")
    return str(client.images.get(name).id)


def build(client: "docker.DockerClient", base: str, context: Path, version: str) -> str:
    """Build the image of one version; the layers below it come from the engine's cache.

    Args:
        client: The engine.
        base: The base image's id.
        context: A directory made by ``context``.
        version: Of srt.

    Returns:
        The image's id.

    Raises:
        ToolError: The build failed; the end of its log is in the message.
    """
    from docker.errors import APIError, BuildError

    arguments = {"BASE_IMAGE": base, "SRT_VERSION": version, "HOMEROOM_VERSION": __version__}
    try:
        image, _ = client.images.build(
            fileobj=_tar(context, version),
            custom_context=True,
            dockerfile="Containerfile",
            buildargs=arguments,
            tag=f"homeroom-srt:{version}",
            rm=True,
            forcerm=True,
            network_mode="none",
        )
    except BuildError as error:
        log = "".join(str(line.get("stream", line.get("error", ""))) for line in error.build_log)
        raise ToolError(
            f"the image of srt {version} could not be built: {log.strip()[-600:]}"
        ) from error
    except APIError as error:
        raise ToolError(f"the engine refused to build: {error.explanation}") from error
    return str(image.id)


def _tar(context: Path, version: str) -> io.BytesIO:
    """Pack a build context whose files have no times of their own, so that layers are shared."""
    packed = io.BytesIO()

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = 0, 0, 0, "", ""
        entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
        return entry

    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(ROOT / "container" / "Containerfile", "Containerfile", filter=plain)
        archive.add(Path(__file__).with_name("cell.py"), "cell.py", filter=plain)
        for name in ("tools", "wheels"):
            archive.add(context / name, name, filter=plain)
        archive.add(context / "srt" / version, "srt", filter=plain)
    packed.seek(0)
    return packed


@contextmanager
def context(
    toolchain: Toolchain, versions: list[str], tell: Callable[[str], None]
) -> Iterator[Path]:
    """Gather everything that the images are made of, with the clients that are set up here.

    Args:
        toolchain: The pinned tools.
        versions: Of srt.
        tell: Says a line about long work.

    Yields:
        A directory, removed afterwards.

    Raises:
        TryAgainError: A package could not be fetched.
        UsageError: There is no such version.
    """
    with tempfile.TemporaryDirectory(prefix="homeroom-matrix-") as name:
        directory = Path(name)
        tools = directory / "tools"
        tools.mkdir()
        shutil.copy(toolchain.tools["node"].path, tools / "node")
        shutil.copy(toolchain.tools["ripgrep"].path, tools / "rg")
        tell("building the wheels")
        _wheels(directory / "wheels")
        for version in versions:
            tell(f"fetching srt {version}")
            _fetch(toolchain, version, directory / "srt" / version)
        yield directory


def _wheels(target: Path) -> None:
    """Build homeroom's wheel, and fetch those it needs for the image's Python."""
    pip = [sys.executable, "-m", "pip", "--quiet"]
    build = subprocess.run(
        [*pip, "wheel", "--no-deps", "-w", str(target), str(ROOT)],
        check=False,
        capture_output=True,
        text=True,
    )
    if build.returncode == 0:
        (wheel,) = target.glob("homeroom-*.whl")
        build = subprocess.run(
            [*pip, "download", "--only-binary", ":all:", "--python-version", "3.11", "--implementation", "cp",
             "--platform", "manylinux2014_x86_64", "--platform", "manylinux_2_28_x86_64", "--platform", "any",
             "-d", str(target), str(wheel)],
            check=False, capture_output=True, text=True,
        )  # fmt: skip
    if build.returncode != 0:
        raise TryAgainError(f"the wheels could not be gathered: {build.stderr.strip()[-400:]}")


def _fetch(toolchain: Toolchain, version: str, target: Path) -> None:
    """Install one version of srt with the pinned npm, which checks what it fetches."""
    target.mkdir(parents=True)
    (target / "package.json").write_text(
        json.dumps({"name": "cell", "private": True, "dependencies": {_PACKAGE: version}})
    )
    node = toolchain.tools["node"].path
    npm = node.parent.parent / "lib/node_modules/npm/bin/npm-cli.js"
    done = subprocess.run(
        [
            str(node),
            str(npm),
            "install",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--omit=dev",
            "--silent",
        ],
        cwd=target,
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        if "ETARGET" in done.stdout + done.stderr or "E404" in done.stdout + done.stderr:
            raise UsageError(f"there is no srt {version}")
        raise TryAgainError(f"srt {version} could not be fetched: {done.stderr.strip()[-300:]}")
    # They name the place the packages came from, which is no business of an image's.
    for name in ("package-lock.json", "node_modules/.package-lock.json"):
        (target / name).unlink(missing_ok=True)


def newest_version(toolchain: Toolchain) -> str:
    """Ask which version of srt is the newest one published.

    Raises:
        TryAgainError: It could not be asked.
    """
    node = toolchain.tools["node"].path
    npm = node.parent.parent / "lib/node_modules/npm/bin/npm-cli.js"
    done = subprocess.run(
        [str(node), str(npm), "view", _PACKAGE, "version"],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise TryAgainError(f"the newest version is not known: {done.stderr.strip()[-200:]}")
    return done.stdout.strip()
