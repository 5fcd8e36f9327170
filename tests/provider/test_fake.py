"""The fake agent of the kit keeps the contract of the seam, as every adapter does."""

import json
from collections.abc import Mapping

from homeroom.provider import Message, Provider
from homeroom.testing import CARRIED, SESSION, GrantContract, Login
from homeroom.testing.fake import FakeProvider


class TestFake(GrantContract):
    key_prefixes = {"api-key": "fake-key-"}
    token_hosts = ("login.fake.invalid",)
    moved_by = {"FAKE_AGENT_HOME": {".fake-agent/login.json": "login.json"}}
    preferences = {"instructions": {".fake-agent/NOTES.md": CARRIED}}
    transcripts = {"/home/me/project": f".fake-agent/talks/home/me/project/{SESSION}.jsonl"}
    transcript = ['{"who": "user", "text": "Hello?"}', '{"who": "assistant", "text": "Yes."}']
    conversation = [Message("user", "Hello?"), Message("assistant", "Yes.")]
    commands = (".fake-agent/commands/ship-it.md", ".fake-agent/skills/ship-it/SKILL.md")
    project_commands = commands

    def provider(self) -> Provider:
        return FakeProvider()

    def logged_in(self, login: Login) -> Mapping[str, str]:
        grant: dict[str, object] = {"access_token": login.access, "refresh_token": login.renewal}
        grant |= {"expires_at": login.expires_at, "account": login.account}
        return {".fake-agent/login.json": json.dumps({"grant": grant})}
