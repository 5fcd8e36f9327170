"""An adapter that homeroom does not ship keeps the contract, with nothing but its own file."""

import json
from collections.abc import Mapping

from homeroom.provider import Message, Provider, names
from homeroom.testing import CARRIED, SESSION, Login, ProviderContract
from tests.provider.qwen import Qwen


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
