"""``attach``, ``send``, ``interrupt`` and ``logs``: speaking to a detached run."""

import argparse
import os
import shlex
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from homeroom.cli.shown import Shown
    from homeroom.paths import Paths
    from homeroom.run.record import Record
    from homeroom.session.tmux import Tmux

_POLL = 0.3
_CHUNK = 65536
_LONGEST = 1024 * 1024
_SEND_EPILOG = """\
examples:
  homeroom send fixer 'and the docs, please'
  homeroom send fixer -- '-x is an option'     what begins with - stands after --
  homeroom send fixer - < question.txt         the text from standard input
  homeroom send fixer ''                       Enter alone

It waits until the agent reads keys, and until the text shows before it presses Enter. Exit
status 75: it was not taken, and no Enter was pressed."""


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the commands to the parser."""
    attach = _parser(commands, "attach", "show a detached run on this terminal")
    attach.epilog = "Leave it running with Ctrl-B, then D."
    attach.set_defaults(handler=_attach)
    send = _parser(commands, "send", "type a text into a detached run, and Enter")
    send.add_argument("text", nargs="?", help="what to type")
    send.epilog = _SEND_EPILOG
    send.formatter_class = argparse.RawDescriptionHelpFormatter
    send.set_defaults(handler=_send, takes_arguments=True)
    interrupt = _parser(commands, "interrupt", "stop what a detached run's agent is doing now")
    interrupt.set_defaults(handler=_interrupt)
    logs = _parser(commands, "logs", "print what a detached run showed on its terminal")
    logs.add_argument("-f", "--follow", action="store_true", help="go on until the run is over")
    logs.epilog = (
        "Of a live run: what its screen shows, and up to 2000 lines above it; of one that is over: "
        "all that was sent to its terminal, as text."
    )
    logs.set_defaults(handler=_logs)


def _parser(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, text: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name, help=text, description=f"{text[0].upper()}{text[1:]}.", allow_abbrev=False
    )
    parser.add_argument(
        "run", help="its name, its id, or a beginning of that (see `homeroom list`)"
    )
    return parser


def _detached(places: "Paths", word: str) -> "Record":
    """Find the living run that a user means, which must be held by homeroom's tmux server."""
    from homeroom.errors import UsageError
    from homeroom.run import find

    record = find.one(places, word, alive=True).record
    if record.session == "foreground":
        raise UsageError(
            f"{record.name or record.run_id[:12]} runs in the foreground of another terminal: "
            "only there can it be spoken to",
            "start one with --detach for that",
        )
    return record


def _attach(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    from homeroom import paths
    from homeroom.errors import UsageError
    from homeroom.session import terminal
    from homeroom.session.tmux import Tmux

    places = paths.locate(environ)
    run_id = _detached(places, arguments.run).run_id
    argv = Tmux(places, environ).attach_argv(run_id)
    if not terminal.is_interactive():
        raise UsageError(
            "attach needs a terminal", f"homeroom logs -f {shlex.quote(arguments.run)}"
        )
    # Within the user's own tmux as well: this server is another one.
    inner = {name: value for name, value in environ.items() if name != "TMUX"}
    os.execve(argv[0], argv, inner)  # noqa: S606


def _send(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    from homeroom import paths
    from homeroom.session import keyboard
    from homeroom.session.tmux import Tmux

    text = _text(arguments)
    places = paths.locate(environ)
    run_id = _detached(places, arguments.run).run_id
    keyboard.type_text(Tmux(places, environ), run_id, text)
    return 0


def _text(arguments: argparse.Namespace) -> str:
    """Take the text from the command line, or from standard input where that says "-"."""
    from homeroom.errors import UsageError

    words = [*([] if arguments.text is None else [arguments.text]), *arguments.arguments]
    if len(words) != 1:
        raise UsageError(
            "give one text to type: quote it" if words else "there is no text to type",
            f"homeroom send {shlex.quote(arguments.run)} 'hello'",
        )
    if arguments.text != "-":
        return str(words[0])
    content = sys.stdin.buffer.read(_LONGEST + 1)
    if len(content) > _LONGEST:
        raise UsageError(f"more than {_LONGEST} bytes came on standard input", "send a part of it")
    try:
        return content.decode().removesuffix("\n")
    except UnicodeDecodeError:
        raise UsageError("what came on standard input is not UTF-8") from None


def _interrupt(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    from homeroom import paths, provider
    from homeroom.session.tmux import Tmux

    places = paths.locate(environ)
    record = _detached(places, arguments.run)
    Tmux(places, environ).send_keys(record.run_id, provider.get(record.provider).interrupt_key)
    return 0


def _logs(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    from homeroom import paths
    from homeroom.cli.shown import Shown
    from homeroom.errors import UsageError
    from homeroom.run import find
    from homeroom.session.tmux import Tmux

    places = paths.locate(environ)
    found = find.one(places, arguments.run)
    run_id, tmux = found.record.run_id, Tmux(places, environ)
    try:
        log = tmux.log(run_id).open("rb")
    except FileNotFoundError:
        raise UsageError(
            f"{run_id} has no log: its output went to the terminal it was started on",
            f"homeroom transcript {run_id[:12]}",
        ) from None
    # What an agent sends to its terminal is for that one: here it would ask, and be answered
    # with words that the user seems to have typed.
    shown = Shown(colours=sys.stdout.isatty() and not environ.get("NO_COLOR"))
    with log:
        # Before the look: what comes at this moment is shown twice rather than never.
        end = log.seek(0, os.SEEK_END)
        screen = _screen(tmux, run_id) if found.is_alive else ""
        log.seek(end if screen else 0)
        if screen:
            sys.stdout.write(shown.feed(screen.encode(errors="replace")))
        try:
            if not screen or arguments.follow:
                _copy(log, shown, places, run_id, follow=arguments.follow)
        finally:
            sys.stdout.write(shown.end())
            sys.stdout.flush()
    return 0


def _screen(tmux: "Tmux", run_id: str) -> str:
    """Take what a living run's screen shows, and what has gone out at its top."""
    from homeroom.errors import ToolError

    try:
        lines = tmux.screen(run_id, "-e", "-S", "-").rstrip()
    except ToolError:
        # It may be gone, with the log still there.
        return ""
    return f"{lines}\n" if lines else ""


def _copy(log: BinaryIO, shown: "Shown", places: "Paths", run_id: str, *, follow: bool) -> None:
    from homeroom.run import find, lock

    while True:
        # Asked before reading: what is written before the end is still read after it.
        is_over = not lock.is_held(find.lock_file(places, run_id))
        while chunk := log.read(_CHUNK):
            sys.stdout.write(shown.feed(chunk))
        sys.stdout.flush()
        if is_over or not follow:
            return
        time.sleep(_POLL)
