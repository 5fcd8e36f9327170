"""What is installed in an image, asked of its own package managers. Runs in the container."""

import json
import subprocess
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from homeroom.toolchain.pins import load
from homeroom.toolchain.store import NODE, Tool

# Kind, name, version: as a package URL says them.
Package = tuple[str, str, str]
# Below homeroom's directory: what stands in for tools that an image does not have.
ABSENT = "absent"


def collect(root: Path, tools: Mapping[str, Tool]) -> list[Package]:
    """List every package.

    Args:
        root: homeroom's directory in the image.
        tools: Its tools, by name.

    Returns:
        Kind, name and version of each, sorted.
    """
    return sorted({*_debian(), *_python(root), *_node(root), *_tools(tools)})


def _debian() -> list[Package]:
    listed = _output("dpkg-query", "--show", "--showformat", "${Package} ${Version}\\n")
    return [("deb/debian", *line.split(" ", 1)) for line in listed.splitlines()]  # type: ignore[misc]


def _python(root: Path) -> list[Package]:
    sites = [str(root / "site"), str(root / "suite" / "site")]
    found = metadata.distributions(path=sites)
    return [("pypi", each.metadata["Name"].lower(), each.version) for each in found]


def _node(directory: Path) -> list[Package]:
    found: list[Package] = []
    for path in directory.rglob("package.json"):
        # Packages also carry such files deeper down, for their own parts.
        if path.parent.parent.name == "node_modules" or path.parent.parent.name.startswith("@"):
            document = json.loads(path.read_text(encoding="utf-8"))
            if "name" in document and "version" in document:
                found.append(("npm", document["name"], document["version"]))
    return found


def _tools(tools: Mapping[str, Tool]) -> list[Package]:
    """List the tools by the packages they come from, of which there may be no more than a file."""
    pins = load()
    packages = {name: ("npm", pin.package) for name, pin in pins.tools.items()}
    packages[NODE] = ("pypi", pins.node.distribution)
    there = [tool for tool in tools.values() if ABSENT not in tool.path.parts]
    return [(*packages[tool.name], tool.version) for tool in there]


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
