"""What homeroom says beside a command's output: on stderr, and never at the price of a status."""

import contextlib
import os
import sys

from homeroom.cli.printable import printable


def tell(line: str) -> None:
    """Say a line on stderr, with the program's name in front.

    Whoever gave a stderr that takes nothing (closed, full, its reader gone) asked for the
    status alone: what cannot be said there is not said, and changes nothing.

    Args:
        line: Without a newline at its end. What a terminal would obey is replaced.
    """
    write(f"homeroom: {printable(line)}\n")


def write(lines: str) -> None:
    """Write to stderr, in the same way.

    Args:
        lines: As they are; the last one ends with a newline.
    """
    # With a closed one ``print`` would write to stdout.
    if sys.stderr is None:
        return
    # A name may hold bytes that no encoding has; the message must come through anyway.
    text = lines.encode(sys.stderr.encoding or "utf-8", "backslashreplace")
    with contextlib.suppress(OSError):
        sys.stderr.flush()
        # Past the buffer: what failed there would be tried again at exit, and end with 120.
        stream = getattr(sys.stderr.buffer, "raw", sys.stderr.buffer)
        while text and (written := stream.write(text)):
            text = text[written:]


def forget_output() -> None:
    """Let what stdout and stderr still hold go nowhere, if they cannot take it.

    The interpreter would try once more at exit, and change the status. By their numbers:
    an agent's streams are these as well, so that this comes last.
    """
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        if stream is None:
            continue
        try:
            stream.flush()
        except OSError:
            with contextlib.suppress(OSError):
                nothing = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nothing, number)
                os.close(nothing)
