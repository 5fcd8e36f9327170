"""Signals that wait to be looked at, so that none interrupts a step half way."""

import os
import signal
from collections import deque
from types import FrameType, TracebackType
from typing import Any, Self

from homeroom.errors import EndedBySignalError

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_WATCHED = (*ENDING, signal.SIGCHLD, signal.SIGWINCH)


class Signals:
    """Collects this process's signals while it is entered.

    A handler only notes the number: an exception out of a handler could strike between
    making a thing and remembering to remove it. The steps of a launch ask between them.

    Attributes:
        pending: Signals that nobody has looked at yet, oldest first.
        is_resumed: Whether this process was stopped and went on: a shell does job control.
    """

    def __init__(self) -> None:
        self.pending: deque[int] = deque()
        self.is_resumed = False
        self._previous: dict[int, Any] = {}
        self._wakeup = (-1, -1)
        self._previous_wakeup = -1

    def __enter__(self) -> Self:
        read_end, write_end = (
            os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK) if hasattr(os, "pipe2") else _pipe_nonblocking()
        )
        self._wakeup = (read_end, write_end)
        self._previous_wakeup = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        for number in ENDING:
            self._take(number)
        self._previous[signal.SIGCONT] = signal.signal(signal.SIGCONT, self._note_resumption)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._previous_wakeup)
        for descriptor in self._wakeup:
            os.close(descriptor)

    def _take(self, number: int) -> None:
        # One that the caller has switched off (nohup, a shell's background job) stays off.
        if number in ENDING and signal.getsignal(number) is signal.SIG_IGN:
            return
        self._previous.setdefault(number, signal.getsignal(number))
        signal.signal(number, self._note)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.pending.append(number)

    def _note_resumption(self, _number: int, _frame: FrameType | None) -> None:
        self.is_resumed = True

    def is_ending(self) -> bool:
        """Tell whether a signal that nobody has looked at yet asks for the end."""
        return any(number in ENDING for number in self.pending)

    def watch_session(self) -> None:
        """Collect signals of children and of the window's size as well."""
        for number in _WATCHED:
            self._take(number)

    def watch_stop(self) -> None:
        """Collect the terminal's stop signal as well, once an agent has to be stopped first.

        Not while it is being started: a child that is stopped before it has become what it
        shall be would be waited for, and nobody could wake it if this process did not stop.
        """
        self._take(signal.SIGTSTP)

    def stop_this_job(self) -> None:
        """Stop this process's job as Ctrl-Z would have, and return when it goes on.

        In a group that no shell looks after the kernel drops the signal: then this
        returns at once.
        """
        handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        try:
            os.killpg(os.getpgrp(), signal.SIGTSTP)
        finally:
            signal.signal(signal.SIGTSTP, handler)

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when a signal has come."""
        return self._wakeup[0]

    def drain(self) -> None:
        """Empty the descriptor; what came is in ``pending``."""
        try:
            while os.read(self._wakeup[0], 512):
                pass
        except BlockingIOError:
            return

    def check(self) -> None:
        """Raise when a signal has asked for the end.

        Raises:
            EndedBySignalError: One has.
        """
        for number in self.pending:
            if number in ENDING:
                raise EndedBySignalError(number)


def _pipe_nonblocking() -> tuple[int, int]:
    ends = os.pipe()
    for end in ends:
        os.set_blocking(end, False)
    return ends
