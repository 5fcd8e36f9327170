"""The command line's entry and its one error edge."""

import argparse
import contextlib
import errno
import io
import json
import os
import sys
from collections.abc import Sequence

from homeroom import __version__
from homeroom.cli import (
    check,
    completion,
    dry_run,
    login,
    logout,
    look,
    prune,
    runs,
    session,
    setup,
    start,
    stop,
    sweep,
    transcript,
)
from homeroom.cli.parser import Parser
from homeroom.cli.telling import forget_output, tell, write
from homeroom.errors import HomeroomError, StorageError, advice, exhausted

_COMMANDS = (
    setup,
    login,
    logout,
    start,
    dry_run,
    runs,
    session,
    stop,
    transcript,
    look,
    check,
    sweep,
    prune,
    completion,
)

_OUTPUT_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

_DESCRIPTION = """\
Give every run of a coding agent a private, pinned, sandboxed room: its own HOME, made for
that run, proven shut before the agent enters, and wiped when it leaves."""

_EPILOG = """\
first steps:
  homeroom                              where you are, and what comes next (--json for machines)
  homeroom setup                        install the pinned tools, once
  homeroom start --demo -- -p 'hello'   see it work: no account, no network
  homeroom start                        the agent, in a room, on this directory

`homeroom help COMMAND` says more. Exit codes: docs/reference/exit-codes.md."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: The arguments, without the program's name; the process's own when None.

    Returns:
        The exit status, as documented in ``docs/reference/exit-codes.md``.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    own, theirs = _split(words)
    _make_output_lenient()
    try:
        return _run(own, theirs)
    finally:
        # Last, and whatever happened: only the status counts by now.
        forget_output()


def _run(own: list[str], theirs: list[str] | None) -> int:
    try:
        arguments = _parse(own, theirs)
        _start_programs_by_fork()
        status: int = arguments.handler(arguments, os.environ)
        _flush()
    except HomeroomError as error:
        return _fail(error, as_json="--json" in own)
    except KeyboardInterrupt:
        if sys.stderr is not None and sys.stderr.isatty():
            # The terminal has shown ^C, and the shell's prompt would follow it.
            write("\n")
        return 130
    except BrokenPipeError:
        # Whoever read our output has gone.
        return 141
    except Exception as error:  # noqa: BLE001
        return _fail_unforeseen(error, as_json="--json" in own)
    return status


def _fail(error: HomeroomError, *, as_json: bool) -> int:
    if (lacking := exhausted(error)) is not None:
        # Whatever could not be opened is not what has to be mended.
        error = StorageError(error.message, advice(lacking))
    _explain(error, as_json=as_json)
    return error.exit_code


def _fail_unforeseen(error: Exception, *, as_json: bool) -> int:
    if (lacking := exhausted(error)) is not None:
        # It can strike anywhere: even a module of Python's own is a file to be opened.
        stopped = StorageError(f"cannot go on: {lacking.strerror}", advice(lacking))
        return _fail(stopped, as_json=as_json)
    if isinstance(error, OSError) and error.errno in _OUTPUT_ERRORS and not error.filename:
        tell(f"error: cannot write to standard output: {error.strerror}")
        return StorageError.exit_code
    import traceback

    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            traceback.print_exc()
    tell(f"internal error: {type(error).__name__}; this is a bug, please report the lines above")
    return HomeroomError.exit_code


def _parse(own: list[str], theirs: list[str] | None) -> argparse.Namespace:
    if theirs is None and own in ([], ["--json"]):
        from homeroom.cli import welcome

        return argparse.Namespace(handler=welcome.run, json=bool(own))
    if own[:1] == ["help"]:
        own = [*own[1:], "--help"]
    try:
        parser = _parser()
        arguments, strange = parser.parse_known_args(own)
        if strange:
            parser.refuse(strange, arguments.command)
        if theirs and not getattr(arguments, "takes_arguments", False):
            parser.error(f"`{arguments.command}` takes no arguments after --")
    except SystemExit:
        _flush()
        raise
    arguments.arguments = tuple(theirs or ())
    arguments.own = tuple(own)
    return arguments


def _start_programs_by_fork() -> None:
    # Ctrl-Z may stop a child before it has become the program that it shall be. By vfork
    # this process could not be stopped with it, nor by any signal be reached: the terminal
    # would hang. (The switch is documented: subprocess, "Disabling use of vfork".)
    import subprocess

    subprocess._USE_VFORK = False  # type: ignore[misc]  # noqa: SLF001 - documented


def _make_output_lenient() -> None:
    # A path or a variable may hold bytes that the terminal's encoding has no word for.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _flush() -> None:
    # Now, while a failure can still be told: at exit it would only confuse.
    if sys.stdout is not None:
        sys.stdout.flush()


def _split(words: list[str]) -> tuple[list[str], list[str] | None]:
    """Part homeroom's own words from the agent's, at the first ``--``."""
    if "--" not in words:
        return words, None
    at = words.index("--")
    return words[:at], words[at + 1 :]


def _parser() -> Parser:
    parser = Parser(
        prog="homeroom",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"homeroom {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in _COMMANDS:
        module.add_parser(commands)
    return parser


def _explain(error: HomeroomError, *, as_json: bool) -> None:
    hint = error.hint
    if as_json:
        content = {
            "kind": error.kind,
            "message": error.message,
            "hint": hint,
            "exit_code": error.exit_code,
        }
        # Where it cannot be written, the status is what there is.
        with contextlib.suppress(OSError):
            print(json.dumps({"schema": 1, "error": content}, indent=2), flush=True)
    tell(f"error: {error.message}")
    if hint:
        # Not every hint names a page, and where there is no descriptor left none can be sought.
        if "docs/" in hint:
            from homeroom.cli.pages import located

            hint = located(hint)
        tell(f"hint: {hint}")
