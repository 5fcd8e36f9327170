"""The pins: one exact version and one hash for every artifact, as data in the package.

Three files: ``pins.json`` (Node.js and where each tool's program is), ``package.json``
and ``package-lock.json`` (npm's own formats, so that npm itself enforces the hashes).
None of them holds an address: where artifacts come from is the user's configuration.
"""

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, TypeVar

import msgspec

from homeroom.errors import IntegrityError, ToolError
from homeroom.toolchain.data import LOCK_DIR, LOCK_FILES, lock_hash
from homeroom.toolchain.host import platform_key

ANY_PLATFORM = "any"
# An exact version: npm and pip would both take a range, and a range is no pin.
_VERSION = r"^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$"
_PACKAGE = r"^(@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*$"
# npm takes several algorithms and several hashes in one field; one sha512 leaves no choice.
_SHA512 = r"^sha512-[A-Za-z0-9+/]{86}==$"

_T = TypeVar("_T")
_Version = Annotated[str, msgspec.Meta(pattern=_VERSION)]
_Package = Annotated[str, msgspec.Meta(pattern=_PACKAGE)]
_Bytes = Annotated[int, msgspec.Meta(gt=0)]


class Wheel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Node.js for one platform: the wheel's name, its sha256 in hex, sizes in bytes."""

    file: str
    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    download: _Bytes
    unpacked: _Bytes


class NodePin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Node.js: which distribution, and where in it the program and npm's script are."""

    distribution: _Package
    version: _Version
    file: str
    npm: str
    wheels: dict[str, Wheel]


class Build(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tool for one platform: npm package, program in it, sizes in bytes."""

    package: _Package
    file: str
    download: _Bytes
    unpacked: _Bytes


class ToolTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tool: the npm package that gives its version, and its builds by platform."""

    package: _Package
    builds: dict[str, Build]


class PinsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``pins.json``, as it stands."""

    schema: Literal[1]
    node: NodePin
    tools: dict[str, ToolTable]


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``package.json``: the packages to install, at exact versions."""

    name: str
    private: Literal[True]
    dependencies: dict[_Package, _Version]


class _Locked(msgspec.Struct, frozen=True):
    # Root entries have neither; unset is told apart by the checks below.
    version: str = ""
    integrity: str = ""
    name: str = ""
    resolved: str | bool = ""
    link: bool = False
    dependencies: dict[str, str] = {}


class LockFile(msgspec.Struct, frozen=True):
    """``package-lock.json``, as far as homeroom reads it."""

    lockfileVersion: Literal[3]  # noqa: N815 - npm's own name
    packages: dict[str, _Locked]


class ToolPin(msgspec.Struct, frozen=True):
    """One tool of npm for this platform, with the integrity of the tarball of its program."""

    version: str
    package: str
    build: Build
    integrity: str


class Pins(msgspec.Struct, frozen=True):
    """Everything that makes up the toolchain of one platform."""

    platform: str
    lock_hash: str
    lock_dir: Path
    node: NodePin
    wheel: Wheel
    tools: Mapping[str, ToolPin]
    owners: Mapping[str, str]
    """The npm package that each integrity belongs to."""


def load(lock_dir: Path = LOCK_DIR, platform: str | None = None) -> Pins:
    """Read the pins and refuse any that does not fix what is installed.

    Args:
        lock_dir: The directory of the three files.
        platform: One of ``host.PLATFORMS``; None means this machine.

    Returns:
        The pins for the platform.

    Raises:
        IntegrityError: A pin has no hash, no exact version, or an address in it.
        ToolError: A tool has no build for the platform.
    """
    platform = platform or platform_key()
    pins = _decode(lock_dir / "pins.json", PinsFile)
    manifest = _decode(lock_dir / "package.json", Manifest)
    lock = _decode(lock_dir / "package-lock.json", LockFile)
    _check_addresses(lock_dir)
    owners = _check_lock(lock, manifest, lock_dir)
    wanted = {table.package for table in pins.tools.values()}
    if wanted != set(manifest.dependencies):
        raise _faulty(
            lock_dir, f"pins.json and package.json differ in {wanted ^ set(manifest.dependencies)}"
        )
    wheel = pins.node.wheels.get(platform)
    if wheel is None:
        raise ToolError(f"Node.js {pins.node.version} is not pinned for {platform}")
    _check_node(pins.node, wheel, lock_dir)
    return Pins(
        platform=platform,
        lock_hash=lock_hash(lock_dir, platform),
        lock_dir=lock_dir,
        node=pins.node,
        wheel=wheel,
        tools={
            name: _tool(name, table, manifest, lock, platform, lock_dir)
            for name, table in pins.tools.items()
        },
        owners=owners,
    )


def _tool(
    name: str, table: ToolTable, manifest: Manifest, lock: LockFile, platform: str, lock_dir: Path
) -> ToolPin:
    build = table.builds.get(platform) or table.builds.get(ANY_PLATFORM)
    if build is None:
        raise ToolError(f"{name} is not pinned for {platform}")
    _check_relative(build.file, lock_dir)
    locked = lock.packages.get(f"node_modules/{build.package}")
    if locked is None:
        raise _faulty(lock_dir, f"{name} is not in package-lock.json ({build.package})")
    return ToolPin(
        version=manifest.dependencies[table.package],
        package=table.package,
        build=build,
        integrity=locked.integrity,
    )


def _check_lock(lock: LockFile, manifest: Manifest, lock_dir: Path) -> dict[str, str]:
    owners: dict[str, str] = {}
    packages = dict(lock.packages)
    root = packages.pop("", _Locked())
    if root.dependencies != manifest.dependencies:
        raise _faulty(lock_dir, "package.json and package-lock.json ask for different versions")
    for key, entry in packages.items():
        if not key.startswith("node_modules/") or ".." in key or entry.link or entry.resolved:
            raise _faulty(lock_dir, f"package-lock.json: {key!r} is not a package from a registry")
        if not re.fullmatch(_VERSION, entry.version):
            raise _faulty(lock_dir, f"package-lock.json: {key} has no exact version")
        if not re.fullmatch(_SHA512, entry.integrity):
            raise _faulty(lock_dir, f"package-lock.json: {key} has no sha512 integrity")
        owners[entry.integrity] = key.rpartition("node_modules/")[2]
    for package, version in manifest.dependencies.items():
        if lock.packages.get(f"node_modules/{package}", _Locked()).version != version:
            raise _faulty(lock_dir, f"package-lock.json does not lock {package} at {version}")
    return owners


def _check_node(node: NodePin, wheel: Wheel, lock_dir: Path) -> None:
    # pip is told the name and the version; the file's name only explains the hash.
    if not wheel.file.startswith(f"{node.distribution.replace('-', '_')}-{node.version}-"):
        raise _faulty(lock_dir, f"{wheel.file} is not {node.distribution} {node.version}")
    _check_relative(node.file, lock_dir)
    _check_relative(node.npm, lock_dir)


def _check_relative(file: str, lock_dir: Path) -> None:
    path = PurePosixPath(file)
    if path.is_absolute() or ".." in path.parts or path == PurePosixPath():
        raise _faulty(lock_dir, f"pins.json: {file!r} leaves the toolchain")


def _check_addresses(lock_dir: Path) -> None:
    for name in LOCK_FILES:
        if b"://" in (lock_dir / name).read_bytes():
            raise _faulty(lock_dir, f"{name} holds an address; pins say what, not where from")


def _decode(path: Path, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _faulty(path.parent, f"{path.name}: {error}") from error


def _faulty(lock_dir: Path, message: str) -> IntegrityError:
    return IntegrityError(f"faulty pins in {lock_dir}: {message}", "install homeroom again")
