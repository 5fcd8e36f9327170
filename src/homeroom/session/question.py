"""One question to a person at a terminal, which no answer at all answers as well."""

import contextlib
import os
import select
import signal
import termios

from homeroom.session.signals import ENDING, Signals

_NO = ("n", "no")
_LIMIT = 4096


def can_ask() -> bool:
    """Tell whether a person at a terminal can see a question and answer it.

    Not in a job in the background: reading would stop it. Not where a program reads what
    the agent writes: that may have the screen.
    """
    try:
        return all(map(os.isatty, (0, 1, 2))) and os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


def yes(text: str, signals: Signals) -> bool:
    """Ask once, with yes as the default.

    Args:
        text: The question, without the choice.
        signals: This process's signals. One that asks for the end is an answer here.

    Returns:
        False for "n" or "no", and True for everything else: for an empty line, for the end
        of the input, and for Ctrl-C.
    """
    with contextlib.suppress(termios.error, OSError):
        # What was typed at the agent is no answer.
        termios.tcflush(0, termios.TCIFLUSH)
    _show(text)
    while True:
        ready, _, _ = select.select([0, signals.fileno()], [], [])
        signals.drain()
        while signals.pending:
            number = signals.pending.popleft()
            if number in ENDING:
                _say("\n")
                return True
            if number == signal.SIGTSTP:
                signals.stop_this_job()
                _show(text)
        if 0 in ready:
            return _answer() not in _NO


def _show(text: str) -> None:
    _say(f"homeroom: {text} [Y/n] ")


def _say(text: str) -> None:
    # A terminal that has gone hears nothing.
    with contextlib.suppress(OSError):
        os.write(2, text.encode())


def _answer() -> str:
    try:
        line = os.read(0, _LIMIT)
    except OSError:
        line = b""
    if not line.endswith(b"\n"):
        _say("\n")
    return line.decode(errors="replace").strip().lower()
