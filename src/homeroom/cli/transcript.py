"""``homeroom transcript``: what was said in a run."""

import argparse
import json
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from homeroom.cli.printable import printable

if TYPE_CHECKING:
    from homeroom.provider import Message

_EPILOG = """\
examples:
  homeroom transcript 3f9a                   a run's conversation, live or ended
  homeroom transcript 3f9a --follow          and what is said from now on
  homeroom transcript 3f9a --json            one JSON object a line
  homeroom transcript 3f9a --export md > conversation.md"""
_POLL = 0.3


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "transcript",
        help="print what was said in a run",
        description="Print the conversation of a run: from its room while it is alive, else from "
        "the archive, where secrets are replaced.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("run", help="its name, its id, or a beginning of that")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object a line")
    form.add_argument("--export", choices=("md", "html"), help="print a document")
    parser.add_argument("-f", "--follow", action="store_true", help="go on until the run is over")
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Print a transcript.

    Args:
        arguments: The parsed command line.
        environ: The caller's environment.

    Returns:
        0.

    Raises:
        UsageError: No run is meant, or it has no transcript.
    """
    from homeroom import paths, transcript
    from homeroom.run import find, lock

    places = paths.locate(environ)
    found = find.one(places, arguments.run)
    adapter, path = transcript.locate(places, found)

    def more() -> bool:
        if not arguments.follow or not lock.is_held(find.lock_file(places, found.record.run_id)):
            return False
        time.sleep(_POLL)
        return True

    spoken = transcript.messages(adapter, path, more=more)
    if arguments.export:
        from homeroom.cli import transcript_view

        print(transcript_view.document(arguments.export, found.record.run_id, spoken))
        return 0
    for line in _json(spoken) if arguments.json else _text(spoken):
        print(line, flush=arguments.follow)
    return 0


def _json(spoken: "Iterator[Message]") -> Iterator[str]:
    for message in spoken:
        yield json.dumps(msgspec.structs.asdict(message), ensure_ascii=False)


def _text(spoken: "Iterator[Message]") -> Iterator[str]:
    for message in spoken:
        when = (message.at or "")[11:16]
        yield f"── {message.role} {when}".rstrip()
        yield printable(message.text.rstrip())
        yield ""
