"""A parser whose errors say what to do next, as every other error does."""

import argparse
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

from homeroom.cli import login
from homeroom.cli.telling import tell, write

# Keys are longer.
_LONGEST_WORD = 16
# How alike an option has to be, to be the one that was meant.
_NEAR = 0.7
# More than this is no help.
_MOST_COMMANDS = 3
# What other tools call them, where no name of ours is near.
_OTHER_NAMES = {
    "doctor": "check",
    "install": "setup",
    "kill": "stop",
    "ls": "list",
    "ps": "list",
    "run": "start",
    "status": "list",
    "version": "--version",
}
_OF_THE_AGENT = "what is for the agent comes after --, as in: homeroom start -- -p 'hello'"
_TAKE_ARGUMENTS = ("start", "dry-run")


class Parser(argparse.ArgumentParser):
    """The parser of homeroom's command line, and of each of its commands."""

    def error(self, message: str) -> NoReturn:
        """Print the usage and the error, and end with 2."""
        # The value of an option that takes none: it may be a key.
        message = re.sub(r"(?s)ignored explicit argument .*", "it takes no value", message)
        hint = _hint(message)
        long = rf"(?s)invalid choice: .{{{_LONGEST_WORD + 3},}} \(choose"
        self.end(re.sub(long, "invalid choice (choose", message), hint)

    def refuse(self, words: Sequence[str], command: str) -> NoReturn:
        """Do the same for words that a command does not know.

        Args:
            words: What is left over, at least one.
            command: The command that was given.
        """
        longest = 0 if command == "login" else _LONGEST_WORD
        said = " ".join(_shown(word, longest) for word in words)
        parsers = self._commands()
        advice = _advice(words[0], command, parsers)
        parsers[command].end(f"unrecognized arguments: {said}", advice)

    def _commands(self) -> "dict[str, Parser]":
        choices: dict[str, Parser] = {}
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
                choices |= action.choices
        return choices

    def options(self) -> list[str]:
        """List what this command's options are called."""
        return sorted(self._option_string_actions)

    def end(self, message: str, hint: str | None) -> NoReturn:
        """Print this command's usage, an error and a hint, and end with 2."""
        # The own way of an older argparse (3.11.2) fails where stderr does, or is closed.
        write(self.format_usage())
        tell(f"error: {message}")
        if hint:
            tell(f"hint: {hint}")
        sys.exit(2)


def _shown(word: str, longest: int) -> str:
    """Leave out what may be a key that came to the wrong place: an option's value, a long word."""
    if re.match(r"--?[a-z]", word):
        name, equals, _ = word.partition("=")
        return f"{name}{equals}…" if equals else name
    return word if len(word) <= longest else "…"


def _advice(word: str, command: str, parsers: dict[str, Parser]) -> str:
    if command == "login" and not word.startswith("-"):
        return login.NO_KEY
    if command == "send":
        return "a text that begins with - comes after --, as in: homeroom send RUN -- '-x'"
    if word.startswith("-"):
        found = _option(word.partition("=")[0], command, parsers)
        if found:
            return found
    return _OF_THE_AGENT if command in _TAKE_ARGUMENTS else f"see `homeroom {command} --help`"


def _option(name: str, command: str, parsers: dict[str, Parser]) -> str | None:
    """Say where an option belongs, or which one may be meant."""
    import difflib

    own = parsers[command].options()
    if name in own:
        return f"options come after the command, as in: homeroom {command} {name}"
    others = [other for other, parser in parsers.items() if name in parser.options()]
    if 0 < len(others) <= _MOST_COMMANDS:
        return f"{name} is an option of homeroom {' and '.join(others)}"
    if command in _TAKE_ARGUMENTS and not name.startswith("--"):
        return None
    begun = [one for one in own if one.startswith(f"-{name}")]
    near = begun if len(begun) == 1 else difflib.get_close_matches(name, own, n=1, cutoff=_NEAR)
    return f"did you mean {near[0]}?" if near else None


def _hint(message: str) -> str | None:
    import difflib

    if re.search(r"required: run\b", message):
        return "name a run: `homeroom list` shows them"
    if message.endswith("required: COMMAND"):
        return "homeroom --help, or homeroom --version"
    wrong = re.search(r"(?s)invalid choice: '(.*)' \(choose from (.*)\)", message)
    if wrong is None:
        return None
    is_command = message.startswith("argument COMMAND")
    if is_command and wrong[1] in _OTHER_NAMES:
        return f"did you mean {_OTHER_NAMES[wrong[1]]}?"
    known = [word.strip("' ") for word in wrong[2].split(",")]
    near = difflib.get_close_matches(wrong[1], known, n=1)
    if near:
        return f"did you mean {near[0]}?"
    return f"see `homeroom --help`; {_OF_THE_AGENT}" if is_command else None
