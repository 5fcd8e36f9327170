"""Probes of the pinned tools."""

import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from homeroom import provider
from homeroom.check.model import Finding, Probe, Surroundings, fail, ok, warn
from homeroom.toolchain import health, pins, store
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
    for damage in health.damages(around.toolchain, thorough=False):
        return fail(damage, _again(around))
    return ok(f"{len(around.toolchain.tools)} tools in {around.toolchain.root}")


def _hashes(around: Surroundings) -> Finding:
    tools = around.require_toolchain().tools.values()
    with ThreadPoolExecutor() as pool:
        changed = [
            tool
            for tool, found in zip(
                tools, pool.map(health.hash_file, [tool.path for tool in tools]), strict=True
            )
            if found != tool.hash
        ]
    if changed:
        return fail(f"{changed[0].path} is not the file that was installed", _again(around))
    return ok(f"{len(tools)} files are as they were installed")


def _again(around: Surroundings) -> str:
    if store.override(around.environ):
        return f"make the toolchain that {store.TOOLCHAIN_VARIABLE} names again, or unset that"
    return f"{_SETUP} --verify"


def _runs(around: Surroundings) -> Finding:
    tools = around.require_toolchain().tools
    asked = [*_agents(), "node", "ripgrep"]
    with ThreadPoolExecutor() as pool:
        answers = pool.map(_output, [[str(tools[name].path), "--version"] for name in asked])
    for name, said in zip(asked, answers, strict=True):
        # ripgrep's own version is another one than that of the package it comes in.
        wanted = tools[name].version if name != "ripgrep" else "ripgrep"
        if wanted not in said:
            return fail(f"{name} says {said.strip()[:60]!r}, not {wanted}", _again(around))
    # srt --version lied until 0.0.77: its package file does not.
    version = _package(tools["srt"]).get("version")
    if version != tools["srt"].version:
        return fail(f"srt's package says {version}, not {tools['srt'].version}", _again(around))
    return ok(f"each runs and says its version, on Node.js {tools['node'].version}")


def _package(tool: Tool) -> dict[str, Any]:
    described: dict[str, Any] = msgspec.json.decode(
        (tool.path.parent.parent / "package.json").read_bytes(), type=dict[str, Any]
    )
    return described


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
    engines = _package(tools["srt"]).get("engines", {}).get("node", "")
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
    found = around.program(name)
    if found is None:
        return None
    tools = around.toolchain.tools.values() if around.toolchain else ()
    own = {_real(tool) for tool in tools}
    return None if os.path.realpath(found) in own else Path(found)


def _real(tool: Tool) -> str:
    return os.path.realpath(tool.path)


_INSTALLED = ("toolchain.installed",)

PROBES = (
    Probe("toolchain.installed", "Every pinned tool is installed", _installed),
    Probe(
        "toolchain.hashes",
        "The installed files are unchanged",
        _hashes,
        is_quick=False,
        limit=60.0,
        needs=_INSTALLED,
    ),
    Probe(
        "toolchain.runs",
        "Each tool runs and is the pinned version",
        _runs,
        is_quick=False,
        limit=60.0,
        needs=("toolchain.hashes", *_INSTALLED, "system.disk"),
    ),
    Probe("toolchain.engines", "Node.js is new enough for srt", _engines, needs=_INSTALLED),
    Probe("toolchain.shadows", "No other copy is on PATH", _shadows, needs=_INSTALLED),
)
