"""What is installed in an image, asked of its own package managers. Runs in the container."""

import json
import subprocess
from importlib import metadata
from pathlib import Path

# Kind, name, version: as a package URL says them.
Package = tuple[str, str, str]


def collect(root: Path, tools: dict[str, Path]) -> list[Package]:
    """List every package.

    Args:
        root: homeroom's directory in the image, with ``site`` and ``srt``.
        tools: Programs that no package manager knows, by name; each tells its version.

    Returns:
        Kind, name and version of each, sorted.
    """
    return sorted({*_debian(), *_python(root / "site"), *_node(root / "srt"), *_tools(tools)})


def _debian() -> list[Package]:
    listed = _output("dpkg-query", "--show", "--showformat", "${Package} ${Version}\\n")
    return [("deb/debian", *line.split(" ", 1)) for line in listed.splitlines()]  # type: ignore[misc]


def _python(site: Path) -> list[Package]:
    found = metadata.distributions(path=[str(site)])
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


def _tools(tools: dict[str, Path]) -> list[Package]:
    found: list[Package] = []
    for name, path in tools.items():
        # As "v24.1.0" or "ripgrep 15.0.0 (rev …)".
        words = _output(str(path), "--version").split()
        found.append(("generic", name, next(w.lstrip("v") for w in words if "." in w)))
    return found


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
