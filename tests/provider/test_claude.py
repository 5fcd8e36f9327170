"""Claude Code keeps the contract of the seam."""

import json
from collections.abc import Mapping
from pathlib import Path

from homeroom.provider import Message, Provider
from homeroom.provider.claude import Claude
from homeroom.testing import CARRIED, HOOK, SECRET, SESSION, GrantContract, Login

_WHEN = "2026-11-30T12:00:00.000Z"


class TestClaude(GrantContract):
    key_prefixes = {"api-key": "sk-ant-api03-", "token": "sk-ant-oat01-"}
    token_hosts = ("platform.claude.com", "console.anthropic.com")
    moved_by = {
        "CLAUDE_CONFIG_DIR": {
            ".claude/.credentials.json": ".credentials.json",
            ".claude.json": ".claude.json",
        },
        "CLAUDE_SECURESTORAGE_CONFIG_DIR": {".claude/.credentials.json": ".credentials.json"},
    }
    preferences = {
        "settings": {
            ".claude/settings.json": json.dumps(
                {
                    "model": CARRIED,
                    "env": {"KEY": SECRET},
                    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": HOOK}]}]},
                    "apiKeyHelper": HOOK,
                }
            )
        },
        "commands": {".claude/commands/deep/ship.md": CARRIED},
        "agents": {".claude/agents/reviewer.md": CARRIED},
        "skills": {".claude/skills/ship/SKILL.md": CARRIED, ".claude/skills/ship/run.sh": CARRIED},
        "instructions": {".claude/CLAUDE.md": CARRIED, ".claude/rules/style.md": CARRIED},
        "mcp": {
            ".claude.json": json.dumps(
                {
                    "oauthAccount": {"accountUuid": "kit-account-one"},
                    "mcpServers": {
                        "docs": {"command": CARRIED, "args": [], "env": {"KEY": SECRET}},
                        "web": {"type": "http", "url": "u", "headers": {"Authorization": SECRET}},
                    },
                }
            )
        },
    }
    # Named by the CLI itself: tests/provider/test_claude_live.py makes it write them.
    transcripts = {
        "/home/me/project": f".claude/projects/-home-me-project/{SESSION}.jsonl",
        "/srv/v1.2/größe_日本 🙂": f".claude/projects/-srv-v1-2-gr--e------/{SESSION}.jsonl",
        f"/srv/{'long-' * 45}": (f".claude/projects/-srv-{'long-' * 39}-ge2mpi/{SESSION}.jsonl"),
    }
    transcript = [
        json.dumps({"type": "summary", "summary": "Files"}),
        json.dumps(
            {
                "type": "user",
                "timestamp": _WHEN,
                "message": {"role": "user", "content": "Which files are there?"},
            }
        ),
        json.dumps(
            {
                "type": "assistant",
                "timestamp": _WHEN,
                "message": {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": "I look."},
                        {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}},
                    ],
                },
            }
        ),
        json.dumps(
            {
                "type": "user",
                "timestamp": _WHEN,
                "message": {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "t", "content": "README"}],
                },
            }
        ),
    ]
    conversation = [
        Message("user", "Which files are there?", _WHEN),
        Message("assistant", "I look.", _WHEN),
        Message("tool call", 'Bash {"command": "ls"}', _WHEN),
        Message("tool result", "README", _WHEN),
    ]
    commands = (".claude/commands/ship-it.md", ".claude/skills/ship-it/SKILL.md")
    project_commands = commands

    def provider(self) -> Provider:
        return Claude()

    def logged_in(self, login: Login) -> Mapping[str, str]:
        grant = {
            "accessToken": login.access,
            "refreshToken": login.renewal,
            "expiresAt": int(login.expires_at * 1000),
            "scopes": ["user:inference", "user:profile"],
            "subscriptionType": "max",
        }
        account = {"accountUuid": login.account, "emailAddress": "me@example.invalid"}
        return {
            ".claude/.credentials.json": json.dumps({"claudeAiOauth": grant}),
            ".claude.json": json.dumps({"oauthAccount": account, "userID": "1"}),
        }

    def test_a_room_without_onboarding_is_not_healthy(self, tmp_path: Path) -> None:
        room = self.room(tmp_path)
        self.seed(room)
        state = room.home / ".claude/.claude.json"
        state.write_text(json.dumps({**json.loads(state.read_text()), "hasCompletedOnboarding": 0}))
        assert "onboarding" in (self.provider().health_check(room) or "")
