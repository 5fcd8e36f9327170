"""The caller's terminal: remembered at the start, given back as it was."""

import contextlib
import os
import signal
import sys
import termios
from typing import Any

# Leave what a full-screen program may have switched on: mouse reports, bracketed paste,
# focus reports, keyboard protocols, the alternate screen, a hidden cursor
# (XTerm Control Sequences, "DEC Private Mode Set").
_RESET = (
    b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?1004l\x1b[<u\x1b[?1049l\x1b[?25h"
)


def is_interactive() -> bool:
    """Tell whether a person's terminal is on standard input."""
    try:
        return os.isatty(0)
    except OSError:
        return False


def remember() -> list[Any] | None:
    """Read the terminal's modes; None where standard input is no terminal."""
    try:
        return termios.tcgetattr(0)
    except (termios.error, OSError):
        return None


def is_own() -> bool:
    """Tell whether the terminal on standard input is this process's own.

    Another session's (after setsid(1), below ``su -c``) is not: the kernel stops nobody who
    reads there while a shell does, and does not even say who has it.
    """
    try:
        os.tcgetpgrp(0)
    except OSError:
        return False
    return True


def is_lent() -> bool:
    """Tell whether standard input is this process's own terminal, and another job has it."""
    try:
        return os.tcgetpgrp(0) != os.getpgrp()
    except OSError:
        return False


def give_back(modes: list[Any] | None, *, reset_screen: bool) -> None:
    """Set the terminal's modes again.

    Args:
        modes: As remembered.
        reset_screen: Whether the program that used it was killed and could not leave its
            screen modes itself.
    """
    # A run can be ended while another job has the terminal, which has set it for itself.
    if modes is None or is_lent():
        return
    # A job in the background is stopped for this, unless it ignores the signal.
    previous = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        with contextlib.suppress(termios.error, OSError):
            termios.tcsetattr(0, termios.TCSADRAIN, modes)
        if reset_screen and sys.stdout is not None:
            with contextlib.suppress(OSError):
                if os.isatty(1):
                    os.write(1, _RESET)
    finally:
        signal.signal(signal.SIGTTOU, previous)
