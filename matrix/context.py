"""What the images are made of, gathered once: the tools, homeroom, and each srt in its turn."""

import hashlib
import io
import os
import shutil
import sys
import tarfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path, PurePosixPath

from homeroom.errors import StorageError, TryAgainError
from homeroom.files import explain
from homeroom.toolchain import child
from matrix.package import Packages

ROOT = Path(__file__).parents[1]
CONTAINERFILE = ROOT / "container" / "Containerfile"
# What runs in the container, beside homeroom itself.
_CELL = ("cell.py", "inventory.py")
_PLACE = "/opt/homeroom"
_HOMEROOM = ("src/homeroom", "pyproject.toml")
# The Python of Debian 12, in whose image the wheels are unpacked.
_PYTHON = "3.11"


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

    def key(self, base: str, version: str) -> str:
        """Name what an image is made of: equal keys, equal images.

        Args:
            base: The base image's id.
            version: Of srt.
        """
        parts = [base, self._packages.key(version), self._shared_key]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    @cached_property
    def _shared_key(self) -> str:
        digest = hashlib.sha256()
        tools = self._packages.toolchain.tools
        for name in ("node", "ripgrep"):
            digest.update(tools[name].hash.encode())
        for path in (CONTAINERFILE, *(Path(__file__).with_name(name) for name in _CELL)):
            digest.update(path.read_bytes())
        for path in _sources():
            digest.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
        return digest.hexdigest()

    def pack(self, version: str) -> io.BytesIO:
        """Pack the context of one version, as a builder takes it.

        Its files have one time, one owner and two modes, so that equal files make equal
        layers, whoever made them and when.

        Args:
            version: Of srt.

        Raises:
            StorageError: The disk is full.
            TryAgainError: A package could not be fetched.
            UsageError: There is no such version.
        """
        try:
            shared = self._shared
            self._tell(f"fetching srt {version}")
            self._packages.fetch(version, self._directory / "srt" / version)
            packed = io.BytesIO()
            with tarfile.open(fileobj=packed, mode="w") as archive:
                archive.add(CONTAINERFILE, "Containerfile", filter=_plain)
                for root in ("shared", "own"):
                    _add_directories(archive, f"{root}{_PLACE}")
                for name in ("tools", "site"):
                    archive.add(shared / name, f"shared{_PLACE}/{name}", filter=_plain)
                archive.add(self._directory / "srt" / version, f"own{_PLACE}/srt", filter=_plain)
                _add_directories(archive, f"own{_PLACE}/cell")
                for name in _CELL:
                    path = Path(__file__).with_name(name)
                    archive.add(path, f"own{_PLACE}/cell/{name}", filter=_plain)
            shutil.rmtree(self._directory / "srt" / version)
        except OSError as error:
            raise explain(error, error.filename or self._directory, "write") from error
        packed.seek(0)
        return packed

    @cached_property
    def _shared(self) -> Path:
        shared = self._directory / "shared"
        (shared / "tools").mkdir(parents=True)
        tools = self._packages.toolchain.tools
        shutil.copy(tools["node"].path, shared / "tools" / "node")
        shutil.copy(tools["ripgrep"].path, shared / "tools" / "rg")
        self._tell("gathering homeroom and what it needs")
        self._install_homeroom(shared / "site")
        return shared

    def _install_homeroom(self, site: Path) -> None:
        """Unpack homeroom's wheel and those that it needs, for the image's Python."""
        wheels = self._directory / "wheels"
        self._pip("wheel", "--no-deps", f"--wheel-dir={wheels}", str(ROOT))
        (wheel,) = wheels.glob("homeroom-*.whl")
        machine = os.uname().machine
        platforms = [f"--platform={tag}_{machine}" for tag in ("manylinux2014", "manylinux_2_28")]
        self._pip(
            *("install", f"--target={site}", "--no-compile", "--only-binary=:all:"),
            *(f"--python-version={_PYTHON}", "--implementation=cp", *platforms, str(wheel)),
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


def _sources() -> list[Path]:
    found = [path for name in _HOMEROOM for path in (ROOT / name, *(ROOT / name).rglob("*"))]
    return sorted(p for p in found if p.is_file() and "__pycache__" not in p.parts)


def _add_directories(archive: tarfile.TarFile, path: str) -> None:
    """Add a directory and those above it: one that a builder makes has the time of day."""
    for parent in (*reversed(PurePosixPath(path).parents), PurePosixPath(path)):
        if parent.parts:
            entry = tarfile.TarInfo(str(parent))
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = 0, 0, 0, "", ""
    entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
    return entry
