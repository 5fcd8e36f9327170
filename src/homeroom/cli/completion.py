"""``homeroom completion``: what a shell needs to complete homeroom's words."""

import argparse
import sys
from collections.abc import Mapping

_FILES = {"bash": "homeroom.bash", "zsh": "_homeroom", "fish": "homeroom.fish"}
_EPILOG = """\
examples:
  eval "$(homeroom completion bash)"        in ~/.bashrc
  homeroom completion zsh > DIR/_homeroom   in a directory of your $fpath
  homeroom completion fish > ~/.config/fish/completions/homeroom.fish"""


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "completion",
        help="print the completions of a shell",
        description="Print the completions of homeroom's commands and options for a shell.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("shell", choices=sorted(_FILES), help="bash, fish or zsh")
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace, _environ: Mapping[str, str]) -> int:
    """Print a file that scripts/generate_shell_files.py made from the parser.

    Args:
        arguments: The parsed command line.

    Returns:
        0.
    """
    from homeroom.data import DIRECTORY

    file = DIRECTORY / "shell" / _FILES[arguments.shell]
    sys.stdout.write(file.read_text(encoding="utf-8"))
    return 0
