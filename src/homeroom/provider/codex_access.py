"""When Codex without a login can do nothing but try again."""

import os
from collections.abc import Collection, Sequence

from homeroom.provider import common
from homeroom.provider.values import Room, SeedFile

_ONE_SHOT = ("exec", "e", "review")
_CONFIG = (".codex/config.toml",)
_VARIABLES = ("OPENAI_", "CODEX_")
# By these another model's address is given.
_WORDS = ("model_provider", "oss_provider", "base_url")
_OTHER = ("--oss", "--local-provider", "--profile", "-p", "--remote")
_ASK_NOTHING = ("help", "--help", "-h", "--version", "-V")


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
    if not arguments or arguments[0] not in _ONE_SHOT:
        return False
    words = [word.partition("=")[0] for word in arguments[1:]]
    if any(word in _OTHER or word in _ASK_NOTHING for word in words):
        return False
    if any(word in given for given in arguments for word in _WORDS):
        return False
    if any(name.startswith(_VARIABLES) for name in passed):
        return False
    if any(os.path.lexists(path) for path in machine):
        return False
    return not common.settings_mention(room, seeds, _CONFIG, _WORDS)
