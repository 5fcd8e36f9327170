"""When Claude Code without a login can do nothing but say so."""

from collections.abc import Sequence

from homeroom.provider.common import Elsewhere

_VARIABLES = ("ANTHROPIC_", "CLAUDE_")
# A key, a helper that gives one, or another vendor's address.
ELSEWHERE = Elsewhere(
    variables=_VARIABLES,
    files=(".claude/settings.json", ".claude/settings.local.json"),
    words=("apiKeyHelper", *_VARIABLES),
)
# Each may hold the same, asks no model, or lets standard input say anything.
_OTHER = ("--settings", "--setting-sources", "--help", "-h", "--version", "-v", "--input-format")
_PRINT = ("-p", "--print")
# Options that take no value (2.1.332), so that what follows is a prompt. Others may.
_ALONE = (*_PRINT, "--", "--verbose", "-c", "--continue", "--dangerously-skip-permissions")


def asks_once(arguments: Sequence[str]) -> bool:
    """Tell whether arguments have the model asked for one answer, and that beyond doubt.

    A word in front of the options may be a command.

    Args:
        arguments: The user's own for the CLI.
    """
    if any(word.partition("=")[0] in _OTHER for word in arguments):
        return False
    # Slash commands such as /context answer without a model (measured, 2.1.332). Where no
    # prompt is given it comes from standard input, and may be one of them.
    prints, prompts = _split(arguments)
    if not prints or not prompts or any(word.startswith("/") for word in arguments):
        return False
    return arguments[0].startswith("-") or not arguments[0].replace("-", "").isalnum()


def _split(arguments: Sequence[str]) -> tuple[bool, list[str]]:
    """Tell whether ``--print`` is given, and list the words that are prompts beyond doubt."""
    prints, prompts = False, list[str]()
    # Whether the option before takes the next word, be it one with a dash, and whether it
    # can take those after it.
    opened = taking = False
    for word in arguments:
        if opened or not word.startswith("-"):
            opened = False
            if not taking:
                prompts.append(word)
        else:
            opened = taking = word not in _ALONE and "=" not in word
            prints = prints or word in _PRINT
    return prints, prompts
