"""When Claude Code without a login can do nothing but say so."""

import os
from collections.abc import Collection, Sequence

from homeroom.provider import common
from homeroom.provider.values import Room, SeedFile

_SETTINGS = (".claude/settings.json", ".claude/settings.local.json")
# By these a key, a helper that gives one, or another vendor's address comes from elsewhere.
_VARIABLES = ("ANTHROPIC_", "CLAUDE_")
_WORDS = ("apiKeyHelper", *_VARIABLES)
# Each may hold the same, or asks no model.
_OTHER = ("--settings", "--setting-sources", "--help", "-h", "--version", "-v")


def needs_login(
    room: Room,
    arguments: Sequence[str],
    passed: Collection[str],
    seeds: Sequence[SeedFile],
    machine: Sequence[str],
) -> bool:
    """Tell whether a logged-out room makes nothing of arguments: see ``Provider``.

    Args:
        room: The room, as planned.
        arguments: The user's own for the CLI.
        passed: Names of the user's variables that the room gets.
        seeds: What will be written into the room.
        machine: Where the machine's administrator keeps settings.
    """
    if not _asks_once(arguments) or any(name.startswith(_VARIABLES) for name in passed):
        return False
    if any(os.path.lexists(path) for path in machine):
        return False
    return not common.settings_mention(room, seeds, _SETTINGS, _WORDS)


def _asks_once(arguments: Sequence[str]) -> bool:
    """Know a prompt of ``--print``. A word in front of the options may be a command."""
    words = [word.partition("=")[0] for word in arguments]
    if not {"-p", "--print"} & set(words) or any(word in _OTHER for word in words):
        return False
    # Slash commands such as /context answer without a model (measured, 2.1.332). Where no
    # prompt is given it comes from standard input, and may be one of them.
    prompts = [word for word in arguments if not word.startswith("-")]
    is_command = not arguments[0].startswith("-") and arguments[0].replace("-", "").isalnum()
    return bool(prompts) and not is_command and not any(word.startswith("/") for word in prompts)
