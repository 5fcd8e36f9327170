"""Is a toolchain what its pins say? Asked before it is published, and later on demand."""

import hashlib
import json
import os
import re
import stat
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from homeroom.errors import IntegrityError, ToolError
from homeroom.toolchain.pins import NodePin, Pins
from homeroom.toolchain.store import NODE, PACKAGES, Toolchain, layout

_TIMEOUT = 60.0
# npm brings the very code by which `engines` ranges are defined.
_ASK_NODE = """
const [semver, ...ranges] = process.argv.slice(1);
const { satisfies } = require(semver);
console.log(JSON.stringify([process.version, ...ranges.map(r => satisfies(process.version, r))]));
"""


def check(root: Path, pins: Pins) -> Toolchain:
    """Look at every tool of a fresh tree.

    Args:
        root: The tree.
        pins: What should be in it.

    Returns:
        Its tools, with the sha256 of each program.

    Raises:
        IntegrityError: A program is missing, cannot be executed, or has another version.
        ToolError: Node.js does not run here, or is too old for a tool.
    """
    expected = layout(root, pins)
    for tool in expected.tools.values():
        if reason := _why_unusable(tool.path):
            raise IntegrityError(f"{tool.name} {tool.version}: {tool.path.name} {reason}")
    _check_engines(root, pins)
    tools = {
        name: msgspec.structs.replace(tool, hash=hash_file(tool.path))
        for name, tool in expected.tools.items()
    }
    return Toolchain(root, pins.lock_hash, tools)


def damages(toolchain: Toolchain, *, thorough: bool) -> Iterator[str]:
    """Say what is wrong with an installed toolchain.

    Args:
        toolchain: As its mark describes it.
        thorough: Whether to hash every program again (about a gigabyte to read).

    Yields:
        One sentence for each damaged tool.
    """
    for tool in toolchain.tools.values():
        if reason := _why_unusable(tool.path):
            yield f"{tool.name}: {tool.path} {reason}"
        elif thorough and hash_file(tool.path) != tool.hash:
            yield f"{tool.name}: {tool.path} is not what was installed"


def hash_file(path: Path) -> str:
    """Hash a file's content, as ``sha256:<hex>``."""
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def _why_unusable(path: Path) -> str | None:
    try:
        status = os.lstat(path)
    except OSError as error:
        return f"cannot be looked at: {error.strerror}"
    if not stat.S_ISREG(status.st_mode):
        return "is not a regular file"
    if not os.access(path, os.X_OK):
        return "is not executable"
    return None


def _check_engines(root: Path, pins: Pins) -> None:
    """Check versions, and that the pinned Node.js is one that every package accepts."""
    ranges: dict[str, str] = {}
    for name, pin in pins.tools.items():
        described = _describe(root / PACKAGES / pin.package / "package.json")
        if described.get("version") != pin.version:
            raise IntegrityError(f"{name} is {described.get('version')}, pinned is {pin.version}")
        if needed := described.get("engines", {}).get("node"):
            ranges[name] = needed
    check_ranges(root / NODE, pins.node, ranges)


def _describe(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError) as error:
        raise IntegrityError(f"{path.parent.name} has no usable package.json: {error}") from error


def check_ranges(node_root: Path, node: NodePin, ranges: Mapping[str, str]) -> None:
    """Check that Node.js is the pinned one and that every package accepts it.

    Args:
        node_root: Where it was unpacked.
        node: Its pin.
        ranges: The ``engines.node`` of each package that has one, by name.

    Raises:
        IntegrityError: It is another version.
        ToolError: It does not run here, or a package needs another one.
    """
    semver = (node_root / node.npm).parents[1] / "node_modules/semver"
    version, *satisfied = _ask_node(node_root / node.file, semver, ranges)
    if version != f"v{node.version}":
        raise IntegrityError(f"Node.js says it is {version}, pinned is v{node.version}")
    for (name, needed), fits in zip(ranges.items(), satisfied, strict=True):
        if not fits:
            raise ToolError(f"{name} needs Node.js {needed}, pinned is {version}")


def _ask_node(program: Path, semver: Path, ranges: Mapping[str, str]) -> list[Any]:
    argv = [str(program), "-e", _ASK_NODE, str(semver), *ranges.values()]
    try:
        # An empty environment: no NODE_OPTIONS, nothing of the user's.
        answer = subprocess.run(
            argv, env={}, capture_output=True, text=True, timeout=_TIMEOUT, check=True
        )
        return list(json.loads(answer.stdout))
    except subprocess.CalledProcessError as error:
        said = re.sub(r"\s+", " ", error.stderr).strip()
        raise ToolError(f"Node.js does not run here: {said[-300:]}") from error
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise ToolError(f"Node.js does not run here: {error}") from error
