"""An agent's output, shown on the caller's terminal, which the agent itself does not get."""

import contextlib
import errno
import math
import os
import select
import termios
import threading
import time
from collections.abc import Callable, Iterator

from homeroom.errors import ToolError

_PIECE = 65536
_POLL = 0.05


class Relay:
    """Stands in for the caller's terminal where an agent may write to it, but not read it.

    Who holds a terminal to write to it can read it as well: through ``/proc`` it is opened
    again. So an agent gets one of its own, on which nobody types. That is no pipe, since
    many a program shows less on one.
    """

    def __init__(self) -> None:
        self._shown_on: dict[int, int] = {}
        self._threads: list[threading.Thread] = []

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Let what is started meanwhile have these streams, wherever ours are a terminal.

        Its input is empty then. What is no terminal it gets as it is.

        Raises:
            ToolError: No terminal could be made.
        """
        kept: dict[int, int] = {}
        try:
            for number, own in self._own_streams().items():
                kept[number] = os.dup(number)
                os.dup2(own, number)
                os.close(own)
            yield
        except BaseException:
            self._drop()
            raise
        finally:
            for number, ours in kept.items():
                os.dup2(ours, number)
                os.close(ours)
        # Only now: a process with threads had better not fork.
        for end, number in self._shown_on.items():
            thread = threading.Thread(target=_show, args=(end, number), daemon=True)
            thread.start()
            self._threads.append(thread)

    def resize(self) -> None:
        """Pass on the size of the caller's terminal."""
        for end, number in self._shown_on.items():
            with contextlib.suppress(termios.error, OSError):
                termios.tcsetwinsize(end, termios.tcgetwinsize(number))

    def finish(self, is_urgent: Callable[[], bool], patience: float | None = None) -> None:
        """Wait until all is shown that was written; nobody may be left who writes.

        Args:
            is_urgent: Whether there is no time for it: a terminal can be held (Ctrl-S).
            patience: How long it may take, in seconds; None for as long as it takes.
        """
        until = math.inf if patience is None else time.monotonic() + patience
        for thread in self._threads:
            while thread.is_alive() and time.monotonic() < until and not is_urgent():
                thread.join(_POLL)

    def _own_streams(self) -> dict[int, int]:
        streams: dict[int, int] = {}
        # All at once: one that is closed may be taken by what is opened here.
        reads, shows, warns = map(os.isatty, (0, 1, 2))
        try:
            if reads:
                streams[0] = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
            if shows:
                streams[1] = self._open(1)
            if warns:
                # One for both, or what was written to them would change its order.
                is_same = shows and os.path.samestat(os.fstat(1), os.fstat(2))
                streams[2] = os.dup(streams[1]) if is_same else self._open(2)
        except BaseException:
            for own in streams.values():
                os.close(own)
            raise
        return streams

    def _open(self, number: int) -> int:
        try:
            ours, theirs = os.openpty()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise
            raise ToolError(
                f"cannot make a terminal for the agent's output: {error.strerror}",
                "close some terminals, or send its output to a file or through `| cat`",
            ) from error
        self._shown_on[ours] = number
        modes = termios.tcgetattr(theirs)
        # What is written goes through as it is: the caller's terminal does the rest.
        modes[1] &= ~termios.OPOST
        termios.tcsetattr(theirs, termios.TCSANOW, modes)
        self.resize()
        return theirs

    def _drop(self) -> None:
        for end in self._shown_on:
            os.close(end)
        self._shown_on.clear()


def _show(end: int, number: int) -> None:
    """Show what comes, until nobody has the other end open; then close this one."""
    while piece := _read(end):
        # A caller's terminal that has gone shows nothing, and the agent is not to wait for it.
        with contextlib.suppress(OSError):
            _write(number, piece)
    os.close(end)


def _read(end: int) -> bytes:
    try:
        return os.read(end, _PIECE)
    except OSError:
        # So Linux says that nobody is left who writes.
        return b""


def _write(number: int, piece: bytes) -> None:
    while piece:
        try:
            piece = piece[os.write(number, piece) :]
        except BlockingIOError:
            # The terminal is shared, and any program can have set it so.
            select.select([], [number], [])
