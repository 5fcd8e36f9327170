"""Probes of the pinned tools."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import msgspec

from homeroom import provider
from homeroom.check.model import Finding, Probe, Surroundings, fail, ok, warn
from homeroom.toolchain import pins, store
from homeroom.toolchain.store import Tool

_SETUP = "homeroom setup"
_TIMEOUT = 20.0


def _installed(around: Surroundings) -> Finding:
    if around.toolchain is None:
        planned = store.planned(around.paths, around.environ)
        return fail(f"nothing is installed at {planned.root}", _SETUP)
    expected = {name: pin.version for name, pin in pins.load().tools.items()}
    for name, version in expected.items():
        tool = around.toolchain.tools.get(name)
        if tool is None or tool.version != version:
            return fail(f"{name} {version} is pinned, and not what is installed", _SETUP)
    return ok(f"{len(around.toolchain.tools)} tools in {around.toolchain.root}")


def _hashes(around: Surroundings) -> Finding:
    tools = around.require_toolchain().tools
    for tool in tools.values():
        try:
            with open(tool.path, "rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            return fail(f"{tool.path}: {error.strerror}", _reinstall(around))
        if tool.hash != f"sha256:{found}":
            return fail(f"{tool.path} is not the file that was installed", _reinstall(around))
    return ok(f"{len(tools)} files are as they were installed")


def _reinstall(around: Surroundings) -> str:
    return f"rm -rf {around.require_toolchain().root} && {_SETUP}"


def _runs(around: Surroundings) -> Finding:
    tools = around.require_toolchain().tools
    node = tools["node"]
    for name in (*_agents(), "node", "ripgrep"):
        said = _output([str(tools[name].path), "--version"])
        wanted = tools[name].version if name != "ripgrep" else "ripgrep"
        if wanted not in said:
            return fail(f"{name} says {said.strip()[:60]!r}, not {wanted}", _reinstall(around))
    package = tools["srt"].path.parent.parent / "package.json"
    # srt --version lied until 0.0.77: its package file does not.
    version = msgspec.json.decode(package.read_bytes()).get("version")
    if version != tools["srt"].version:
        return fail(f"srt's package file says {version}, not {tools['srt'].version}", _SETUP)
    return ok(f"each runs and says its version, on Node.js {node.version}")


def _output(argv: list[str]) -> str:
    # A home of its own: some programs make their directories even to say their version.
    with tempfile.TemporaryDirectory(prefix="homeroom-check-") as scratch:
        result = subprocess.run(
            argv,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=_TIMEOUT,
            env={"PATH": os.defpath, "HOME": scratch},
            cwd=scratch,
        )
    return result.stdout


def _engines(around: Surroundings) -> Finding:
    tools = around.require_toolchain().tools
    package = tools["srt"].path.parent.parent / "package.json"
    engines = msgspec.json.decode(package.read_bytes()).get("engines", {}).get("node", "")
    floor = _numbers(engines.removeprefix(">="))
    if _numbers(tools["node"].version) < floor:
        return fail(f"Node.js {tools['node'].version} is older than srt asks: {engines}", _SETUP)
    return ok(f"srt asks for Node.js {engines}, {tools['node'].version} is pinned")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def _agents() -> list[str]:
    return [provider.get(name).tool for name in provider.names()]


def _shadows(around: Surroundings) -> Finding:
    others = [path for name in ("srt", *_agents()) if (path := _on_path(around, name)) is not None]
    if not others:
        return ok("no other copy of the agents or of srt is on PATH")
    names = ", ".join(str(path) for path in others)
    return warn(f"also on PATH, and not used by homeroom: {names}")


def _on_path(around: Surroundings, name: str) -> Path | None:
    found = shutil.which(name, path=around.environ.get("PATH", os.defpath))
    if found is None:
        return None
    tools = around.toolchain.tools.values() if around.toolchain else ()
    own = {_real(tool) for tool in tools}
    return None if os.path.realpath(found) in own else Path(found)


def _real(tool: Tool) -> str:
    return os.path.realpath(tool.path)


PROBES = (
    Probe("toolchain.installed", "Every pinned tool is installed", _installed),
    Probe(
        "toolchain.hashes",
        "The installed files are unchanged",
        _hashes,
        is_quick=False,
        limit=60.0,
        needs_toolchain=True,
    ),
    Probe(
        "toolchain.runs",
        "Each tool runs and is the pinned version",
        _runs,
        is_quick=False,
        limit=60.0,
        needs_toolchain=True,
    ),
    Probe("toolchain.engines", "Node.js is new enough for srt", _engines, needs_toolchain=True),
    Probe("toolchain.shadows", "No other copy is on PATH", _shadows),
)
