"""Codex keeps the contract of the seam."""

import base64
import json
from collections.abc import Mapping

from homeroom.provider import Message, Provider
from homeroom.provider.codex import Codex
from homeroom.testing import CARRIED, HOOK, SECRET, SESSION, GrantContract, Login

_WHEN = "2026-11-30T12:00:00.000Z"
_ROLLOUT = f".codex/sessions/2026/11/30/rollout-2026-11-30T12-00-00-{SESSION}.jsonl"


def _part(text: str, kind: str | None = None) -> dict[str, object]:
    """A message with the role of the user, as 0.171.0 or an older version writes it."""
    said: dict[str, object] = {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": text}],
    }
    if kind is not None:
        said["internal_chat_message_metadata_passthrough"] = {"content_item_kinds": [kind]}
    return said


class TestCodex(GrantContract):
    key_prefixes = {"api-key": "sk-proj-"}
    token_hosts = ("auth.openai.com",)
    moved_by = {"CODEX_HOME": {".codex/auth.json": "auth.json"}}
    preferences = {
        "settings": {
            ".codex/config.toml": f"""# Mine.
model = "{CARRIED}"
notify = ["{HOOK}"]

[mcp_servers.docs]
command = "docs"
env = {{ KEY = "{SECRET}" }}

[model_providers.mine]
experimental_bearer_token = "{SECRET}"
http_headers = {{ Authorization = "{SECRET}" }}

[hooks]
Stop = [{{ command = "{HOOK}" }}]
"""
        },
        "instructions": {".codex/AGENTS.md": CARRIED},
        "skills": {".codex/skills/ship/SKILL.md": CARRIED, ".agents/skills/sail/SKILL.md": CARRIED},
    }
    transcripts = {"/home/me/project": _ROLLOUT}
    transcript = [
        json.dumps({"timestamp": _WHEN, "type": "session_meta", "payload": {"id": SESSION}}),
        *(
            json.dumps({"timestamp": _WHEN, "type": "response_item", "payload": item})
            for item in (
                # What the CLI says before the user does, and about a skill that is called.
                {
                    "type": "message",
                    "role": "user",
                    "content": [
                        {
                            "type": "input_text",
                            "text": "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nBe brief"
                            "\n</INSTRUCTIONS>",
                        },
                        {
                            "type": "input_text",
                            "text": "<environment_context>\n  <cwd>/x</cwd>\n"
                            "</environment_context>",
                        },
                    ],
                },
                {
                    "type": "message",
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": "<skill>\n<name>ship</name>\n</skill>"}
                    ],
                },
                {
                    "type": "message",
                    "role": "user",
                    "content": [{"type": "input_text", "text": "Which files are there?"}],
                },
                # Newer versions say who speaks: the CLI here, the user there.
                _part("Be brief </INSTRUCTIONS> now", "agents_md.instructions"),
                _part("<cwd>/x</cwd>", "environments.environment_context"),
                _part("<skill> </skill> Go.", "skills.selected_skill_instructions"),
                _part("A word of a kind to come.", "to.come"),
                _part("<skill>\n<name>s</name>\n</skill>", "user.text"),
                # A user who speaks of it has said it.
                _part("<skill>s</skill>\nreal words\n<skill>t</skill>"),
                _part("# AGENTS.md instructions: please fix </INSTRUCTIONS>"),
                {
                    "type": "message",
                    "role": "user",
                    "content": [{"type": "input_text", "text": "<environment_context> is what?"}],
                },
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "I look."}],
                },
                {"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}'},
                {"type": "function_call_output", "call_id": "t", "output": "README"},
            )
        ),
    ]
    conversation = [
        Message("user", "Which files are there?", _WHEN),
        Message("user", "A word of a kind to come.", _WHEN),
        Message("user", "<skill>\n<name>s</name>\n</skill>", _WHEN),
        Message("user", "<skill>s</skill>\nreal words\n<skill>t</skill>", _WHEN),
        Message("user", "# AGENTS.md instructions: please fix </INSTRUCTIONS>", _WHEN),
        Message("user", "<environment_context> is what?", _WHEN),
        Message("assistant", "I look.", _WHEN),
        Message("tool call", 'shell {"command":["ls"]}', _WHEN),
        Message("tool result", "README", _WHEN),
    ]
    commands = (".codex/skills/ship-it/SKILL.md", ".agents/skills/ship-it/SKILL.md")
    project_commands = (".agents/skills/ship-it/SKILL.md",)

    def provider(self) -> Provider:
        return Codex()

    def logged_in(self, login: Login) -> Mapping[str, str]:
        tokens = {
            "id_token": _token(login, {"email": "me@example.invalid"}),
            "access_token": _token(login, {"exp": int(login.expires_at)}),
            "refresh_token": login.renewal,
            "account_id": login.account,
        }
        document = {"auth_mode": "chatgpt", "OPENAI_API_KEY": None, "tokens": tokens}
        return {".codex/auth.json": json.dumps(document)}


def _token(login: Login, claims: Mapping[str, object]) -> str:
    """Make a JSON web token whose signature is the login's secret; none is blank."""
    header, body = (
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
        for part in ({"alg": "RS256"}, claims)
    )
    return f"{header}.{body}.{login.access}" if login.access else ""
