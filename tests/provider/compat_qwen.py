"""The third adapter's real CLI keeps the live half of the contract as well.

Not a part of the suite, which fetches no agent that is not pinned: ``nox -s compat`` runs it.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from homeroom.paths import locate
from homeroom.provider import Provider
from homeroom.testing import LiveProviderContract
from homeroom.testing.toolchain import with_tools
from homeroom.toolchain import pins
from homeroom.toolchain.store import NODE, TOOLCHAIN_VARIABLE, Tool, Toolchain, require
from tests.conftest import REGISTRIES
from tests.provider.qwen import Qwen

PACKAGE = "@qwen-code/qwen-code"
VERSION = "0.24.4"


@pytest.mark.network
class TestLiveQwen(LiveProviderContract):
    leave = ("C-c", "C-c")
    moved_by = ("QWEN_HOME", "QWEN_RUNTIME_DIR", "OPENAI_BASE_URL")
    login_status = ()

    @pytest.fixture(scope="class")
    @classmethod
    def toolchain(cls, toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Toolchain:
        """The shared toolchain, and the CLI from its registry beside it."""
        root = tmp_path_factory.mktemp("tools")
        npm = toolchain.root / NODE / pins.load().node.npm
        kept = {name: value for name, value in os.environ.items() if REGISTRIES.fullmatch(name)}
        options = ("--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund")
        subprocess.run(
            [toolchain.tools[NODE].path, npm, "install", *options, f"{PACKAGE}@{VERSION}"],
            cwd=root,
            env={**kept, "HOME": str(root), "PATH": os.environ["PATH"]},
            check=True,
            capture_output=True,
            timeout=100,
        )
        program = root / "qwen"
        script = root / "node_modules" / PACKAGE / "cli-entry.js"
        program.write_text(
            f'#!/bin/sh\nexec "{root}/{NODE}/{pins.load().node.file}" "{script}" "$@"\n'
        )
        program.chmod(0o755)
        tools = {Qwen.tool: Tool(Qwen.tool, VERSION, program, "")}
        return _installed(with_tools(root, toolchain, tools))

    def workspaces(self, toolchain: Toolchain) -> Sequence[str]:
        # It keeps none where the path is longer than a file's name may be.
        return [name for name in super().workspaces(toolchain) if len(name) < 200]

    def provider(self) -> Provider:
        return Qwen()

    def make(self, name: str) -> tuple[str, Mapping[str, object]]:
        return "run_shell_command", {"command": f"touch {name}", "is_background": False}


def _installed(root: Path) -> Toolchain:
    environ = {TOOLCHAIN_VARIABLE: str(root), "HOMEROOM_HOME": str(root)}
    return require(locate(environ), environ)
