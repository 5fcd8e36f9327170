"""An adapter that homeroom does not ship keeps the contract, with nothing but its own file."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from homeroom.provider import Message, Provider, names
from homeroom.testing import CARRIED, SESSION, LiveProviderContract, Login, ProviderContract
from homeroom.testing.toolchain import with_tools
from homeroom.toolchain import pins
from homeroom.toolchain.store import NODE, Tool, Toolchain, require
from tests.conftest import REGISTRIES
from tests.provider.qwen import Qwen

PACKAGE = "@qwen-code/qwen-code"
VERSION = "0.24.4"


def test_it_is_not_shipped() -> None:
    assert Qwen.name not in names()


class TestQwen(ProviderContract):
    key_prefixes = {"api-key": "sk-"}
    moved_by = {"QWEN_HOME": {".qwen/settings.json": "settings.json"}}
    preferences = {"instructions": {".qwen/QWEN.md": CARRIED}}
    transcripts = {"/home/me/work": f".qwen/projects/-home-me-work/chats/{SESSION}.jsonl"}
    transcript = [
        '{"type": "user", "message": {"role": "user", "parts": [{"text": "Hello?"}]}}',
        '{"type": "system", "subtype": "ui_telemetry"}',
        '{"type": "assistant", "message": {"role": "model", "parts": [{"text": "Yes."}]}}',
    ]
    conversation = [Message("user", "Hello?"), Message("assistant", "Yes.")]
    commands = (".qwen/commands/ship-it.md", ".qwen/skills/ship-it/SKILL.md")
    project_commands = commands

    def provider(self) -> Provider:
        return Qwen()

    def logged_in(self, login: Login) -> Mapping[str, str]:
        auth = {"selectedType": "openai", "apiKey": login.access}
        return {".qwen/settings.json": json.dumps({"security": {"auth": auth}})}


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
        return require_from(with_tools(root, toolchain, tools))

    def provider(self) -> Provider:
        return Qwen()

    def make(self, name: str) -> tuple[str, Mapping[str, object]]:
        return "run_shell_command", {"command": f"touch {name}", "is_background": False}


def require_from(root: Path) -> Toolchain:
    from homeroom.paths import locate

    environ = {"HOMEROOM_TOOLCHAIN": str(root), "HOMEROOM_HOME": str(root)}
    return require(locate(environ), environ)
