"""The command line that ``matrix`` and ``bisection`` share, and how each of them ends."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from homeroom.errors import HomeroomError
from homeroom.toolchain.interrupt import Interrupted, interruptible
from matrix.catalogue import User
from matrix.rig import Wish
from matrix.suite import SUITES


def add(parser: argparse.ArgumentParser) -> None:
    """Add what says how cells are run."""
    parser.add_argument("--user", choices=("plain", "root", "both"), default="plain")
    parser.add_argument(
        "--package",
        type=Path,
        action="append",
        default=[],
        metavar="FILE.tgz",
        help="a packed srt of yours, which wins over the published one of its version",
    )
    parser.add_argument("--jobs", type=_positive, default=os.cpu_count() or 1)
    parser.add_argument("--limit", type=_positive, default=300, help="seconds for each cell")
    parser.add_argument(
        "--suite",
        choices=SUITES,
        default="sandbox",
        help="hermetic tests in each cell: those that srt has a part in (default), or all",
    )
    parser.add_argument("--base", metavar="IMAGE", help="a base image that is there already")
    parser.add_argument("--no-cache", action="store_true", help="make every image anew")
    parser.add_argument(
        "--output", type=Path, default=Path("matrix-results"), help="where reports and logs go"
    )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


def wish(options: argparse.Namespace) -> Wish:
    """Turn a parsed command line into how cells are run."""
    return Wish(
        output=options.output,
        packages=tuple(options.package),
        base=options.base,
        jobs=options.jobs,
        limit=options.limit,
        use_cache=not options.no_cache,
        suite=options.suite,
    )


def users(options: argparse.Namespace) -> list[User]:
    """Tell as whom cells run."""
    return ["plain", "root"] if options.user == "both" else [options.user]


def guarded(act: Callable[[], int]) -> int:
    """Run a command; say in one sentence what kept it from running.

    Returns:
        Its status, that of the error, or 128 and the number of the signal that ended it.
    """
    try:
        with interruptible():
            return act()
    except HomeroomError as error:
        print(f"matrix: error: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"matrix: hint: {error.hint}", file=sys.stderr)
        return error.exit_code
    except Interrupted as interrupted:
        print(f"matrix: {interrupted}; nothing is left running", file=sys.stderr)
        return 128 + interrupted.number
