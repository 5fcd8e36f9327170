"""This process's job: what the shell stops, wakes, and gives the terminal to or takes it from."""

import contextlib
import errno
import os
import signal
import termios
import time
from collections.abc import Iterator

from homeroom.session import terminal
from homeroom.session.signals import Signals


class Job:
    """The process group that this process is in.

    Args:
        signals: This process's signals.

    Attributes:
        is_left_out: Whether another job has the terminal from the beginning.
        paused: How long this job was stopped in all, in seconds.
    """

    def __init__(self, signals: Signals) -> None:
        self._signals = signals
        # One that a shell has stopped and woken is brought to the front some time; of one
        # that was started in the background (`&`, timeout) nobody knows that.
        self.is_left_out = terminal.is_lent() and not signals.is_resumed
        self.paused = 0.0

    def stop(self) -> None:
        """Stop as Ctrl-Z would have, and return when it goes on."""
        begun = time.monotonic()
        self._signals.stop_this_job()
        self.paused += time.monotonic() - begun

    def await_terminal(self) -> bool:
        """Stop, as any job does that takes what is not its own, until this one has the terminal.

        Returns:
            Whether it has, or needs none. Else a signal asks for the end, or no shell is
            left that could give it.
        """
        if self.is_left_out:
            return True
        begun = time.monotonic()
        # The kernel looks and stops in one step, and looks again when the job goes on; a
        # look of our own would be old by the time that we obeyed it.
        previous = signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        try:
            while not self._signals.is_ending():
                try:
                    termios.tcdrain(0)
                except termios.error as error:
                    if error.args[0] != errno.EINTR:
                        return bool(error.args[0] != errno.EIO)
                else:
                    return True
            return False
        finally:
            signal.signal(signal.SIGTTOU, previous)
            self.paused += time.monotonic() - begun

    @contextlib.contextmanager
    def own_input(self) -> Iterator[None]:
        """Let what is started meanwhile have the terminal's input, or an empty one instead."""
        if not self.is_left_out:
            yield
            return
        kept = os.dup(0)
        try:
            empty = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
            os.dup2(empty, 0)
            os.close(empty)
            yield
        finally:
            os.dup2(kept, 0)
            os.close(kept)
