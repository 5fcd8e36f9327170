"""What is installed: toolchains named by the hash of their pins, each with one mark.

``find`` is on the path of every start, so this module imports little and reads only the
mark, which an install writes last.
"""

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from homeroom.errors import StorageError, ToolError
from homeroom.files import read_regular
from homeroom.paths import Paths
from homeroom.toolchain.data import LOCK_DIR, lock_hash

if TYPE_CHECKING:
    from homeroom.toolchain.pins import Pins

TOOLCHAIN_VARIABLE = "HOMEROOM_TOOLCHAIN"
# Below a toolchain's root: what pip unpacks, and what npm does.
NODE = "node"
PACKAGES = "node_modules"
MARK = "toolchain.json"
MARK_SCHEMA = 1
_MARK_LIMIT = 64 * 1024


class Tool(msgspec.Struct, frozen=True):
    """One program of a toolchain.

    Attributes:
        name: ``node``, or a name in ``pins.json``.
        version: As pinned.
        path: The program, absolute: native, or a script that Node.js runs.
        hash: Of an installed tool, ``sha256:<hex>`` of the file at ``path``. Of a planned
            one, what its artifact is checked against: npm's ``sha512-<base64>``, or
            ``sha256:<hex>`` of the wheel.
    """

    name: str
    version: str
    path: Path
    hash: str


class Toolchain(msgspec.Struct, frozen=True):
    """A set of tools that belong together.

    Attributes:
        root: The directory that holds all of them, absolute.
        lock_hash: Of the pins they were made from, in hex.
        tools: By name.
    """

    root: Path
    lock_hash: str
    tools: Mapping[str, Tool]


def override(environ: Mapping[str, str]) -> Path | None:
    """Give the toolchain directory that the user names instead of homeroom's own.

    Args:
        environ: The caller's environment; ``HOMEROOM_TOOLCHAIN`` is a directory that was
            made and marked elsewhere (by Nix, for an image, by another homeroom).

    Returns:
        It, free of symlinks, or None when there is none.

    Raises:
        ToolError: It is not an absolute path.
    """
    named = environ.get(TOOLCHAIN_VARIABLE, "")
    if not named:
        return None
    if not os.path.isabs(named):
        raise ToolError(f"{TOOLCHAIN_VARIABLE}={named} is not an absolute path")
    return Path(os.path.realpath(named))


def planned(paths: Paths, environ: Mapping[str, str], lock_dir: Path = LOCK_DIR) -> Toolchain:
    """Tell what the toolchain is or will be, from the pins alone; nothing is touched.

    Args:
        paths: homeroom's directories.
        environ: The caller's environment.
        lock_dir: The directory of the pins.

    Returns:
        The toolchain, with the hashes that its artifacts are checked against.

    Raises:
        IntegrityError: The pins are faulty.
        ToolError: There are no pins for this machine.
    """
    from homeroom.toolchain.pins import load

    pins = load(lock_dir)
    root = override(environ) or paths.toolchains / pins.lock_hash
    return layout(root, pins)


def layout(root: Path, pins: "Pins") -> Toolchain:
    """Place the pinned tools below a root, with the hashes of their artifacts."""
    node = pins.node
    program = root / NODE / node.file
    tools = [Tool(NODE, node.version, program, f"sha256:{pins.wheel.sha256}")]
    for name, pin in pins.tools.items():
        program = root / PACKAGES / pin.build.package / pin.build.file
        tools.append(Tool(name, pin.version, program, pin.integrity))
    return Toolchain(root, pins.lock_hash, {tool.name: tool for tool in tools})


def find(paths: Paths, environ: Mapping[str, str], lock_dir: Path = LOCK_DIR) -> Toolchain | None:
    """Look for the installed toolchain of the current pins.

    Args:
        paths: homeroom's directories.
        environ: The caller's environment.
        lock_dir: The directory of the pins.

    Returns:
        The toolchain, or None when it is not installed as a whole.

    Raises:
        ToolError: ``HOMEROOM_TOOLCHAIN`` names something else than a whole toolchain of
            these pins, or others could have written to the toolchain.
        StorageError: The pins cannot be read.
    """
    wanted = lock_hash(lock_dir)
    named = override(environ)
    root = named or paths.toolchains / wanted
    try:
        _check_owner(root)
        found = _read_mark(root)
    except (OSError, ValueError, StorageError) as error:
        if named is None:
            return None
        raise ToolError(
            f"{TOOLCHAIN_VARIABLE}={named} is not a whole toolchain: {error}",
            f"unset {TOOLCHAIN_VARIABLE}, then run: homeroom setup",
        ) from error
    if found.lock_hash == wanted:
        return found
    if named is None:
        return None
    raise ToolError(
        f"{TOOLCHAIN_VARIABLE}={named} was made from other pins"
        f" ({found.lock_hash}, this homeroom needs {wanted})",
        f"make it again with this homeroom, or unset {TOOLCHAIN_VARIABLE}",
    )


def require(paths: Paths, environ: Mapping[str, str], lock_dir: Path = LOCK_DIR) -> Toolchain:
    """Give the installed toolchain.

    Args:
        paths: homeroom's directories.
        environ: The caller's environment.
        lock_dir: The directory of the pins.

    Returns:
        The toolchain.

    Raises:
        ToolError: It is not installed, or not usable (see ``find``).
        StorageError: The pins cannot be read.
    """
    found = find(paths, environ, lock_dir)
    if found is None:
        raise ToolError("the pinned tools are not installed", "homeroom setup")
    return found


def encode_mark(toolchain: Toolchain, platform: str) -> bytes:
    """Write down a toolchain, with paths relative to its root, so that it can be moved."""
    document = {
        "schema": MARK_SCHEMA,
        "lock_hash": toolchain.lock_hash,
        "platform": platform,
        "tools": {
            tool.name: {
                "version": tool.version,
                "path": str(tool.path.relative_to(toolchain.root)),
                "hash": tool.hash,
            }
            for tool in toolchain.tools.values()
        },
    }
    return json.dumps(document, indent=2).encode() + b"\n"


def _read_mark(root: Path) -> Toolchain:
    document: Any = json.loads(read_regular(root / MARK, _MARK_LIMIT))
    try:
        if document["schema"] != MARK_SCHEMA:
            raise ValueError(f"{MARK} has schema {document['schema']!r}")
        tools = {name: _read_tool(root, name, entry) for name, entry in document["tools"].items()}
        return Toolchain(root, str(document["lock_hash"]), tools)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{MARK} is damaged") from error


def _read_tool(root: Path, name: str, entry: Mapping[str, str]) -> Tool:
    path = os.path.normpath(entry["path"])
    if os.path.isabs(path) or path.startswith(".."):
        raise ValueError(f"{MARK} names a path outside: {path}")
    return Tool(name, entry["version"], root / path, entry["hash"])


def _check_owner(root: Path) -> None:
    status = os.lstat(root)
    if not stat.S_ISDIR(status.st_mode):
        raise ValueError(f"{root} is not a directory")
    if status.st_uid not in (os.geteuid(), 0) or status.st_mode & 0o022:
        raise ToolError(
            f"others could have written to the toolchain {root}"
            f" (uid {status.st_uid}, mode {stat.S_IMODE(status.st_mode):04o})",
            "remove it, then run: homeroom setup",
        )
