#!/usr/bin/env python3
"""Write docs/reference/cli.md from the parser, so that neither says what the other does not."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from homeroom.cli import main as cli

TARGET = Path(__file__).parent.parent / "docs" / "reference" / "cli.md"
_HEAD = """\
# Command line

<!-- Made by scripts/generate_cli_reference.py from the parser; do not edit. -->

Exit codes are in [Exit codes](exit-codes.md), the documents of `--json` in [JSON](json.md).
"""


def render(parser: argparse.ArgumentParser) -> str:
    """Render a parser and its commands as Markdown.

    Not by ``format_help``: its line breaks depend on the terminal and on Python's version.

    Args:
        parser: The program's parser.

    Returns:
        The whole page.
    """
    sections = [_HEAD, *_section(parser, 2)]
    for action in _positionals(parser):
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for command in action.choices.values():
                sections += _section(command, 2)
    return "\n".join(sections)


def _section(parser: argparse.ArgumentParser, level: int) -> Iterator[str]:
    yield f"{'#' * level} `{parser.prog}`\n"
    if parser.description:
        yield f"{parser.description.strip()}\n"
    yield f"    {_usage(parser)}\n"
    rows = [_row(action) for action in _shown(parser)]
    if rows:
        yield "| Argument | Meaning |\n|---|---|"
        yield "\n".join(rows) + "\n"
    if parser.epilog:
        yield "```text"
        yield f"{parser.epilog.strip()}"
        yield "```\n"


def _usage(parser: argparse.ArgumentParser) -> str:
    words = [parser.prog]
    if any(action.option_strings for action in _shown(parser)):
        words.append("[OPTION…]")
    for action in _positionals(parser):
        name = _name(action)
        words.append(f"[{name}]" if action.nargs == "?" else name)
    if parser.get_default("takes_arguments"):
        words.append("[-- ARGS…]")
    return " ".join(words)


def _shown(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:  # noqa: SLF001
        is_help = isinstance(action, argparse._HelpAction)  # noqa: SLF001
        if not is_help and action.help != argparse.SUPPRESS:
            yield action


def _positionals(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    return (action for action in _shown(parser) if not action.option_strings)


def _name(action: argparse.Action) -> str:
    metavar = action.metavar or action.dest
    return metavar if isinstance(metavar, str) else " ".join(metavar)


def _row(action: argparse.Action) -> str:
    if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
        said = ", ".join(f"`{name}`" for name in action.choices)
        return f"| `{_name(action)}` | one of {said} |"
    left = ", ".join(f"`{option}`" for option in action.option_strings) or f"`{_name(action)}`"
    if action.option_strings and action.nargs != 0:
        left += f" `[{_name(action)}]`" if action.nargs == "?" else f" `{_name(action)}`"
    return f"| {left} | {(action.help or '').replace('|', '&#124;')} |"


def main() -> int:
    """Write the page, or with ``--check`` only say whether it would change.

    Returns:
        0, or 1 when the page is not up to date.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 when it differs")
    arguments = parser.parse_args()
    text = render(cli._parser())  # noqa: SLF001
    if arguments.check:
        return int(not TARGET.is_file() or TARGET.read_text(encoding="utf-8") != text)
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
