"""What the images are made of, gathered once: the tools, homeroom, and each srt in its turn."""

import hashlib
import io
import os
import shutil
import sys
import tarfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Literal

from msgspec.structs import replace

from homeroom.errors import StorageError, TryAgainError
from homeroom.files import explain
from homeroom.toolchain import child
from homeroom.toolchain.data import lock_hash
from homeroom.toolchain.host import platform_key
from homeroom.toolchain.store import MARK, Tool, Toolchain, encode_mark
from matrix.agents import Agent, gather
from matrix.inventory import ABSENT
from matrix.package import Packages

ROOT = Path(__file__).parents[1]
CONTAINERFILE = ROOT / "container" / "Containerfile"
# What runs in the container, beside homeroom itself.
_CELL = ("__init__.py", "agent_cell.py", "cell.py", "inventory.py", "suite.py")
# The hermetic tests, what they share, and how they are run.
_SUITE = (
    *("pyproject.toml", "docs/how-to/add-an-agent.md", "docs/reference/exit-codes.md"),
    *("tests/__init__.py", "tests/conftest.py", "tests/core", "tests/provider"),
    *("tests/sandbox", "tests/support"),
)
_RUNNERS = ("hypothesis", "pytest", "pytest-timeout", "trustme")
_OURS = tuple(ROOT / name for name in ("src/homeroom", *_SUITE))
# The tools in every image.
_SHARED = ("node", "ripgrep")
_PLACE = Path("/opt/homeroom")
# The Python of Debian 12, in whose image the wheels are unpacked.
_PYTHON = "3.11"
# Whoever starts Python finds homeroom, whatever is left of the environment.
_PATHS = Path(f"/usr/local/lib/python{_PYTHON}/dist-packages/homeroom.pth")
_STAND_IN = b"#!/bin/sh\necho this image has no such program >&2\nexit 127\n"
_SRT = Path("srt/node_modules/@anthropic-ai/sandbox-runtime/dist/cli.js")


@dataclass(frozen=True)
class Recipe:
    """What an image is to hold.

    Attributes:
        srt: The version of srt.
        agents: The agents in it, besides.
        target: "cell" tries them, "room" is homeroom as it is used.
    """

    srt: str
    agents: tuple[Agent, ...] = ()
    target: Literal["cell", "room"] = "cell"

    def __str__(self) -> str:
        return ", ".join([f"srt {self.srt}", *map(str, self.agents)])


class Context:
    """A build context, whose parts are made when the first image asks for them.

    Args:
        packages: Where srt comes from, and the tools.
        directory: An empty directory to gather in.
        tell: Says a line about long work.
    """

    def __init__(self, packages: Packages, directory: Path, tell: Callable[[str], None]) -> None:
        self._packages = packages
        self._directory = directory
        self._tell = tell

    def key(self, base: str, recipe: Recipe) -> str:
        """Name what an image is made of: equal keys, equal images.

        Args:
            base: The base image's id.
            recipe: What it is to hold.
        """
        parts = [base, self._packages.key(recipe.srt), *map(str, recipe.agents), recipe.target]
        return hashlib.sha256("\n".join([*parts, self._shared_key]).encode()).hexdigest()[:16]

    @cached_property
    def _shared_key(self) -> str:
        digest = hashlib.sha256()
        for tool in self._packages.toolchain.tools.values():
            digest.update(tool.hash.encode())
        how = map(Path(__file__).with_name, ("agents.py", "context.py", *_CELL))
        for path in _files((CONTAINERFILE, *how, *_OURS)):
            digest.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
        return digest.hexdigest()

    def pack(self, recipe: Recipe) -> Path:
        """Pack the context of one image, as a builder takes it.

        Its files have one time, one owner and two modes, so that equal files make equal
        layers, whoever made them and when.

        Args:
            recipe: What the image is to hold.

        Returns:
            The archive. On the disk: with agents it is larger than what one wants to hold.

        Raises:
            StorageError: The disk is full.
            ToolError: There is no such version of an agent.
            TryAgainError: A package could not be fetched.
            UsageError: There is no such version of srt.
        """
        own = self._directory / "srt" / recipe.srt
        try:
            shared = self._shared
            self._tell(f"fetching {recipe}")
            self._packages.fetch(recipe.srt, own)
            packed = self._directory / "context.tar"
            with tarfile.open(packed, "w") as archive:
                archive.add(CONTAINERFILE, "Containerfile", filter=_plain)
                for root in ("shared", "suite", "agents", "own"):
                    _add_directories(archive, f"{root}{_PLACE}")
                _add_tree(archive, shared, f"shared{_PLACE}")
                _add_file(archive, f"shared{_PATHS}", f"{_PLACE}/site\n".encode())
                if recipe.target == "cell":
                    self._add_suite(archive, f"suite{_PLACE}")
                else:
                    # One that the builder makes for WORKDIR has the time of day.
                    _add_directories(archive, "agents/work")
                tools = self._add_agents(archive, recipe, f"agents{_PLACE}")
                archive.add(own, f"own{_PLACE}/srt", filter=_plain)
                self._add_mark(archive, f"own{_PLACE}/{MARK}", tools)
            shutil.rmtree(own)
        except OSError as error:
            raise explain(error, error.filename or self._directory, "write") from error
        return packed

    def _add_suite(self, archive: tarfile.TarFile, place: str) -> None:
        _add_directories(archive, f"{place}/cell/matrix")
        for name in _CELL:
            path = Path(__file__).with_name(name)
            archive.add(path, f"{place}/cell/matrix/{name}", filter=_plain)
        _add_tree(archive, self._runners, f"{place}/suite/site")
        for name in _SUITE:
            _add_directories(archive, str(PurePosixPath(f"{place}/suite/{name}").parent))
            archive.add(ROOT / name, f"{place}/suite/{name}", filter=_plain)

    def _add_agents(self, archive: tarfile.TarFile, recipe: Recipe, place: str) -> list[Tool]:
        """Add the agents, and tell of every tool of the image where it is there."""
        own = _PLACE / _SRT
        base = self._packages.toolchain
        program = self._directory / "srt" / recipe.srt / _SRT.relative_to("srt")
        tools = [Tool("srt", recipe.srt, own, _hash(program))]
        for name in _SHARED:
            tool = base.tools[name]
            tools.append(replace(tool, path=_PLACE / tool.path.relative_to(base.root)))
        there = {agent.name for agent in recipe.agents}
        for name in sorted(base.tools.keys() - {"srt", *_SHARED, *there}):
            # A start wants every tool of the toolchain to be there.
            tools.append(replace(base.tools[name], path=_PLACE / ABSENT / name))
            _add_file(archive, f"{place}/{ABSENT}/{name}", _STAND_IN, 0o755)
        for agent, part in gather(recipe.agents, base, self._directory):
            _add_directories(archive, str(PurePosixPath(place, part.place).parent))
            archive.add(part.source, f"{place}/{part.place}", filter=_plain)
            digest = _hash(part.source / part.program.relative_to(part.place))
            tools.append(Tool(agent.name, agent.version, _PLACE / part.program, digest))
        return tools

    def _add_mark(self, archive: tarfile.TarFile, place: str, tools: list[Tool]) -> None:
        made = Toolchain(_PLACE, lock_hash(), {tool.name: tool for tool in tools})
        _add_file(archive, place, encode_mark(made, platform_key()))

    @cached_property
    def _shared(self) -> Path:
        shared = self._directory / "shared"
        base = self._packages.toolchain
        for name in _SHARED:
            source = base.tools[name].path
            target = shared / source.relative_to(base.root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
        self._tell("gathering homeroom and what it needs")
        self._install_homeroom(shared / "site")
        return shared

    @cached_property
    def _runners(self) -> Path:
        """What runs the tests; apart from homeroom, so that it sees no more than it needs."""
        site = self._directory / "runners"
        self._install(site, *_RUNNERS)
        return site

    def _install_homeroom(self, site: Path) -> None:
        """Unpack homeroom's wheel and those that it needs, for the image's Python."""
        wheels = self._directory / "wheels"
        self._pip("wheel", "--no-deps", f"--wheel-dir={wheels}", str(ROOT))
        (wheel,) = wheels.glob("homeroom-*.whl")
        self._install(site, str(wheel))

    def _install(self, site: Path, *packages: str) -> None:
        machine = os.uname().machine
        platforms = [f"--platform={tag}_{machine}" for tag in ("manylinux2014", "manylinux_2_28")]
        self._pip(
            *("install", f"--target={site}", "--no-compile", "--only-binary=:all:"),
            *(f"--python-version={_PYTHON}", "--implementation=cp", *platforms, *packages),
        )
        # These name this machine: its Python, and where the wheel lay.
        shutil.rmtree(site / "bin", ignore_errors=True)
        for name in ("direct_url.json", "RECORD"):
            for path in site.glob(f"*.dist-info/{name}"):
                path.unlink()

    def _pip(self, *arguments: str) -> None:
        environ = child.environment(os.environ, self._directory)
        command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        ended = child.run([*command, *arguments], self._directory, environ, None, lambda: None)
        if ended.status != 0:
            said = ended.errors.strip()[-400:]
            if "No space left" in said:
                raise StorageError(
                    f"homeroom could not be unpacked: {said}", "make room on the disk"
                )
            raise TryAgainError(f"homeroom's wheels could not be gathered: {said}")


def _hash(program: Path) -> str:
    with program.open("rb") as opened:
        return f"sha256:{hashlib.file_digest(opened, 'sha256').hexdigest()}"


def _files(paths: Iterable[Path]) -> list[Path]:
    found = [each for path in paths for each in (path, *path.rglob("*"))]
    return sorted(p for p in found if p.is_file() and "__pycache__" not in p.parts)


def _add_tree(archive: tarfile.TarFile, tree: Path, place: str) -> None:
    _add_directories(archive, place)
    for path in sorted(tree.iterdir()):
        archive.add(path, f"{place}/{path.name}", filter=_plain)


def _add_directories(archive: tarfile.TarFile, path: str) -> None:
    """Add a directory and those above it: one that a builder makes has the time of day."""
    for parent in (*reversed(PurePosixPath(path).parents), PurePosixPath(path)):
        if parent.parts:
            entry = tarfile.TarInfo(str(parent))
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)


def _add_file(archive: tarfile.TarFile, path: str, content: bytes, mode: int = 0o644) -> None:
    _add_directories(archive, str(PurePosixPath(path).parent))
    entry = tarfile.TarInfo(path)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if PurePosixPath(entry.name).name == "__pycache__":
        return None
    entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = 0, 0, 0, "", ""
    entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
    return entry
