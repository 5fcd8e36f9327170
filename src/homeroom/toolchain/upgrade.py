"""Rewrite the pins from the registries, for maintainers: ``homeroom setup --upgrade-pins``.

Every artifact that is new is fetched once, so that its hash is of what was seen and its
program is known to be where the pins say.
"""

import hashlib
import json
import re
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from homeroom.errors import IntegrityError, ToolError, TryAgainError, UsageError
from homeroom.files import replace_private
from homeroom.toolchain import child, health
from homeroom.toolchain.data import LOCK_DIR, LOCK_FILES
from homeroom.toolchain.fetch import npm
from homeroom.toolchain.host import PLATFORMS
from homeroom.toolchain.pins import Build, Manifest, NodePin, PinsFile, ToolTable, Wheel, load
from homeroom.toolchain.store import NODE

Change = tuple[str, str, str]
# What each wheel may ask for. pip goes down from a version of macOS by itself, but takes
# the names of the C libraries as they are.
_TAGS = {
    "linux-x64": ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64"),
    "linux-arm64": ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64"),
    "linux-x64-musl": ("musllinux_1_2_x86_64", "musllinux_1_1_x86_64"),
    "linux-arm64-musl": ("musllinux_1_2_aarch64", "musllinux_1_1_aarch64"),
    "darwin-x64": ("macosx_14_0_x86_64",),
    "darwin-arm64": ("macosx_14_0_arm64",),
}


class _Bench(msgspec.Struct, frozen=True):
    """What every step works with."""

    work: Path
    environ: Mapping[str, str]
    tell: Callable[[str], None]

    def run(self, argv: list[str]) -> str:
        environ = child.environment(self.environ, self.work)
        ended = child.run(argv, self.work, environ, None, lambda: None)
        if ended.status:
            lines = (ended.errors or ended.output).splitlines()
            said = " ".join([line for line in lines if "error" in line.lower()][:2])
            hint = "check the name, the version and the network"
            raise TryAgainError(f"a registry refused: {said}", hint)
        return ended.output

    def pip(self, *arguments: str) -> str:
        options = ("--no-cache-dir", "--no-input", "--disable-pip-version-check", "--no-color")
        return self.run([sys.executable, "-P", "-m", "pip", *options, *arguments])

    def npm(self, node: NodePin, *arguments: str) -> str:
        options = (
            *("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"),
            *("--logs-max=0", "--loglevel=error", f"--cache={self.work / 'cache'}"),
        )
        return self.run([*npm(self.unpacked(node), node), *options, *arguments])

    def unpacked(self, node: NodePin) -> Path:
        return self.work / f"{NODE}-{node.version}"


def source_lock_dir() -> Path:
    """Give the directory of the pins in the source tree that this package runs from.

    Returns:
        The directory.

    Raises:
        UsageError: This is an installed package.
    """
    if not (LOCK_DIR.parents[3] / "pyproject.toml").is_file():
        raise UsageError(
            "this homeroom is installed, not a source tree",
            "name the directory: homeroom setup --upgrade-pins src/homeroom/toolchain/lock",
        )
    return LOCK_DIR


def upgrade(
    directory: Path,
    wanted: Mapping[str, str],
    environ: Mapping[str, str],
    tell: Callable[[str], None],
) -> list[Change]:
    """Rewrite the pins.

    Args:
        directory: The directory of the pins, which say what there is to pin.
        wanted: Versions to take, by tool; the latest of the others.
        environ: The caller's environment.
        tell: Called with a line about each step.

    Returns:
        Name, old and new version of each tool that changed.

    Raises:
        UsageError: A tool in ``wanted`` is not known.
        IntegrityError: A registry serves something else than it says.
        ToolError: A program is no longer where the pins say, or Node.js is too old.
        TryAgainError: A registry did not answer, or has no such version.
    """
    before = load(directory)
    old = msgspec.json.decode((directory / "pins.json").read_bytes(), type=PinsFile)
    if unknown := sorted(set(wanted) - {NODE, *old.tools}):
        raise UsageError(f"no such tool: {unknown[0]}", f"one of: {NODE}, {', '.join(old.tools)}")
    with tempfile.TemporaryDirectory(prefix="homeroom-pins-") as name:
        bench = _Bench(Path(name), child.trusting(environ, Path(name)), tell)
        node = _upgrade_node(bench, old.node, wanted.get(NODE))
        versions = {
            tool: _npm_version(bench, node, table.package, wanted.get(tool))
            for tool, table in old.tools.items()
        }
        packages = {old.tools[tool].package: version for tool, version in versions.items()}
        manifest = Manifest("homeroom-toolchain", True, dict(sorted(packages.items())))  # noqa: FBT003
        lock = _lock(bench, node, manifest)
        _check_engines(bench, node, lock)
        sizes = {pin.integrity: pin.build for pin in _all_pins(directory)}
        tools = {
            tool: _measure(bench, node, table, lock, sizes) for tool, table in old.tools.items()
        }
        _write(bench.work / "lock", PinsFile(1, node, tools), manifest, lock)
        for platform in PLATFORMS:
            load(bench.work / "lock", platform)
        for file in LOCK_FILES:
            replace_private(directory / file, (bench.work / "lock" / file).read_bytes())
            (directory / file).chmod(0o644)
    after = {NODE: node.version, **versions}
    former = {NODE: old.node.version} | {tool: pin.version for tool, pin in before.tools.items()}
    return [(tool, former[tool], after[tool]) for tool in after if former[tool] != after[tool]]


def _upgrade_node(bench: _Bench, old: NodePin, wanted: str | None) -> NodePin:
    """Take the newest version of the newest line that Node.js itself calls LTS."""
    for version in [wanted] if wanted else _newest_of_lines(bench, old.distribution):
        node = msgspec.structs.replace(old, version=version, wheels={})
        bench.tell(f"node {version}")
        target = ("--target", str(bench.unpacked(node)))
        bench.pip(
            "install", "--no-deps", "--only-binary", ":all:", "--no-compile", "-q", *target,
            f"{old.distribution}=={version}",
        )  # fmt: skip
        program = str(bench.unpacked(node) / node.file)
        if wanted or bench.run([program, "-p", "process.release.lts || ''"]).strip():
            if version == old.version:
                return old
            return msgspec.structs.replace(node, wheels=_wheels(bench, node))
    raise ToolError(f"{old.distribution} has no LTS version of Node.js")


def _newest_of_lines(bench: _Bench, distribution: str) -> list[str]:
    said = bench.pip("index", "versions", distribution)
    listed = re.search(r"Available versions: (.*)", said)
    versions = re.findall(r"\b\d+\.\d+\.\d+\b(?!\S*rc)", listed[1] if listed else "")
    lines: dict[int, tuple[int, ...]] = {}
    for version in versions:
        parts = tuple(map(int, version.split(".")))
        # Lines with an odd number never become LTS (Node.js release schedule).
        if parts[0] % 2 == 0:
            lines[parts[0]] = max(parts, lines.get(parts[0], parts))
    return [".".join(map(str, lines[line])) for line in sorted(lines, reverse=True)]


def _wheels(bench: _Bench, node: NodePin) -> dict[str, Wheel]:
    wheels = {}
    for platform in PLATFORMS:
        target = bench.work / "wheels" / platform
        tags = [f"--platform={tag}" for tag in _TAGS[platform]]
        bench.pip(
            "download", "--no-deps", "--only-binary", ":all:", "-q", "--dest", str(target),
            *tags, f"{node.distribution}=={node.version}",
        )  # fmt: skip
        (wheel,) = target.iterdir()
        with zipfile.ZipFile(wheel) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        wheels[platform] = Wheel(wheel.name, digest, wheel.stat().st_size, unpacked)
        bench.tell(f"  {wheel.name}")
        wheel.unlink()
    return wheels


def _npm_version(bench: _Bench, node: NodePin, package: str, wanted: str | None) -> str:
    found: object = json.loads(
        bench.npm(node, "view", "--json", f"{package}@{wanted or 'latest'}", "version") or "null"
    )
    if not isinstance(found, str):
        raise ToolError(f"{package} has no version {wanted}", "give one exact version")
    bench.tell(f"{package} {found}")
    return found


def _lock(bench: _Bench, node: NodePin, manifest: Manifest) -> dict[str, Any]:
    """Let npm lock the manifest for all platforms, without addresses."""
    directory = bench.work / "lock"
    directory.mkdir()
    (directory / "package.json").write_bytes(_pretty(manifest))
    bench.npm(
        node,
        *("install", "--package-lock-only", "--omit-lockfile-registry-resolved"),
        f"--prefix={directory}",
    )
    lock: dict[str, Any] = json.loads((directory / "package-lock.json").read_bytes())
    for entry in lock["packages"].values():
        # Where to send money is an address too.
        entry.pop("funding", None)
    return lock


def _check_engines(bench: _Bench, node: NodePin, lock: Mapping[str, Any]) -> None:
    ranges = {
        key: entry["engines"]["node"]
        for key, entry in lock["packages"].items()
        if "node" in entry.get("engines", {})
    }
    health.check_ranges(bench.unpacked(node), node, ranges)


def _all_pins(directory: Path) -> list[Any]:
    return [pin for platform in PLATFORMS for pin in load(directory, platform).tools.values()]


def _measure(
    bench: _Bench,
    node: NodePin,
    table: ToolTable,
    lock: Mapping[str, Any],
    sizes: dict[str, Build],
) -> ToolTable:
    builds = {}
    for platform, build in table.builds.items():
        locked = lock["packages"].get(f"node_modules/{build.package}")
        if locked is None:
            raise ToolError(f"{table.package} no longer brings {build.package}: edit pins.json")
        known = sizes.get(locked["integrity"])
        if known is None or known.file != build.file:
            known = sizes[locked["integrity"]] = _pack(bench, node, build, locked)
        builds[platform] = known
    return ToolTable(table.package, builds)


def _pack(bench: _Bench, node: NodePin, build: Build, locked: Mapping[str, str]) -> Build:
    """Fetch a tarball and look into it."""
    spec = f"{locked.get('name', build.package)}@{locked['version']}"
    bench.tell(f"  {spec}")
    (packed,) = json.loads(bench.npm(node, "pack", "--json", spec))
    (bench.work / packed["filename"]).unlink()
    if packed["integrity"] != locked["integrity"]:
        raise IntegrityError(f"{spec}: the registry serves another tarball than it says")
    if build.file not in {file["path"] for file in packed["files"]}:
        raise ToolError(f"{spec} no longer has {build.file}: edit pins.json")
    return Build(build.package, build.file, packed["size"], packed["unpackedSize"])


def _write(directory: Path, pins: PinsFile, manifest: Manifest, lock: object) -> None:
    for name, content in zip(LOCK_FILES, (lock, manifest, pins), strict=True):
        (directory / name).write_bytes(_pretty(content))


def _pretty(content: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"
