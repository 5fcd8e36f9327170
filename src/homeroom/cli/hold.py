"""``homeroom hold``: what a detached run's session starts. Not for people."""

import argparse
from collections.abc import Mapping
from pathlib import Path


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser, without a line in its help."""
    parser = commands.add_parser("hold", allow_abbrev=False)
    parser.add_argument("order", type=Path)
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace, _environ: Mapping[str, str]) -> int:
    """Become the run that was ordered; never returns."""
    from homeroom import detach

    detach.become(arguments.order)
    raise AssertionError("execve returned")
