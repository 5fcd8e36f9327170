"""Which of the user's own Claude Code files can be carried into a room."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from homeroom.provider import common
from homeroom.provider.values import SeedFile
from homeroom.redact import redact

# Settings that run a program of the user's, or fetch a credential by one.
_PROGRAMS = (
    "apiKeyHelper",
    "awsAuthRefresh",
    "awsCredentialExport",
    "fileSuggestion",
    "gcpAuthRefresh",
    "hooks",
    "otelHeadersHelper",
    "proxyAuthHelper",
    "statusLine",
    "subagentStatusLine",
)
# Settings that hold variables, among them keys and base URLs.
_VARIABLES = ("env",)
_TREES = {"commands": "commands", "agents": "agents", "skills": "skills"}


def preferences(
    directory: Path, state: Path, names: Sequence[str], *, hooks: bool
) -> Sequence[SeedFile]:
    """Give chosen preferences as files for a room.

    Args:
        directory: The user's configuration directory.
        state: The user's ``.claude.json``.
        names: Which; see ``Provider.preferences``.
        hooks: Whether settings that run programs come along.

    Raises:
        CredentialError: A file cannot be read; it is named.
    """
    seeds: list[SeedFile] = []
    if "settings" in names:
        settings = _settings(common.read_user_object(directory / "settings.json"), hooks=hooks)
        seeds += [SeedFile(".claude/settings.json", settings)] if settings else []
    for name, tree in _TREES.items():
        if name in names:
            seeds += common.copy_tree(directory / tree, f".claude/{tree}")
    if "instructions" in names:
        text = common.read_user_text(directory / "CLAUDE.md")
        seeds += [SeedFile(".claude/CLAUDE.md", content=text.encode())] if text else []
        seeds += common.copy_tree(directory / "rules", ".claude/rules")
    if "mcp" in names:
        servers = without_secrets(common.read_user_object(state).get("mcpServers"))
        seeds += [SeedFile(".claude/.claude.json", {"mcpServers": servers})] if servers else []
    return seeds


def _settings(settings: dict[str, Any], *, hooks: bool) -> dict[str, Any]:
    left_out = _VARIABLES if hooks else (*_VARIABLES, *_PROGRAMS)
    return {key: value for key, value in settings.items() if key not in left_out}


def without_secrets(servers: object) -> dict[str, Any]:
    """Strip MCP server definitions of what may be a secret.

    Args:
        servers: Definitions by name; anything else gives none.

    Returns:
        The same without variables and headers, and with secrets of a known shape masked.
    """
    if not isinstance(servers, Mapping):
        return {}
    kept = {
        name: {key: value for key, value in server.items() if key not in ("env", "headers")}
        for name, server in servers.items()
        if isinstance(server, Mapping)
    }
    clean: dict[str, Any] = json.loads(redact(json.dumps(kept).encode()))
    return clean
