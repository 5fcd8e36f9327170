"""The reference of the command line says what the parser says."""

import argparse
import runpy
from pathlib import Path

from homeroom.cli import main as cli
from tests.docs.pages import ROOT, read

SCRIPT = ROOT / "scripts" / "generate_cli_reference.py"
PAGE = ROOT / "docs" / "reference" / "cli.md"


def test_the_page_is_what_the_parser_gives() -> None:
    made = runpy.run_path(str(SCRIPT))["render"](cli._parser())
    assert read(PAGE) == made, f"run: python {SCRIPT.relative_to(ROOT)}"


def test_every_option_is_on_the_page() -> None:
    page = read(PAGE)
    commands = next(
        action for action in cli._parser()._actions if isinstance(action.choices, dict)
    ).choices
    assert isinstance(commands, dict)
    missing = [
        f"{command}: {option}"
        for command, parser in commands.items()
        for action in parser._actions
        if action.help != argparse.SUPPRESS
        for option in action.option_strings
        if f"`{option}`" not in page and option not in ("-h", "--help")
    ]
    assert missing == []


def test_a_new_option_changes_the_page(tmp_path: Path) -> None:
    parser = cli._parser()
    parser.add_argument("--brand-new", help="never seen")
    made = runpy.run_path(str(SCRIPT))["render"](parser)
    (tmp_path / "cli.md").write_text(made)
    assert "`--brand-new` `brand_new` | never seen" in made
