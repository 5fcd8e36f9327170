#!/usr/bin/env python3
"""Write the man page and the shells' completions from the parser, by shtab and argparse-manpage.

Both are tools of the maintainers: what they make is data of the package.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import shtab
from argparse_manpage.manpage import Manpage

from homeroom import __version__
from homeroom.cli import main as cli

TARGET = Path(__file__).parent.parent / "src" / "homeroom" / "data" / "shell"
NAMES = {"bash": "homeroom.bash", "zsh": "_homeroom", "fish": "homeroom.fish"}


def render(parser: argparse.ArgumentParser) -> dict[str, str]:
    """Make every file.

    Args:
        parser: The program's parser.

    Returns:
        The text of each file by its name.
    """
    files = {"homeroom.1": _manual(parser)}
    for action in _actions(parser):
        if action.metavar == "DIR":
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    for shell, name in NAMES.items():
        files[name] = shtab.complete(parser, shell)
    return files


def _manual(parser: argparse.ArgumentParser) -> str:
    # argparse breaks usage lines at the width of the terminal, and each Python elsewhere; so not
    # at all: man fills lines itself.
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "10000"
    try:
        lines = str(Manpage(parser)).splitlines()
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before
    # Without the day on which it was made, which says nothing of what it says.
    lines[0] = f'.TH HOMEROOM "1" "" "homeroom {__version__}" "User Commands"'
    name = lines.index(".SH NAME") + 1
    lines[name] = "homeroom \\- a private, pinned, sandboxed room for every run of a coding agent"
    return "\n".join(lines) + "\n"


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:  # noqa: SLF001
        yield action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for command in action.choices.values():
                yield from _actions(command)


def main() -> int:
    """Write the files, or with ``--check`` only say which would change.

    Returns:
        0, or 1 when a file is not up to date.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 when one differs")
    check = parser.parse_args().check
    stale = 0
    for name, text in render(cli._parser()).items():  # noqa: SLF001
        path = TARGET / name
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale = 1
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        sys.stderr.write(f"{'stale' if check else 'written'}: {path}\n")
    return stale if check else 0


if __name__ == "__main__":
    sys.exit(main())
