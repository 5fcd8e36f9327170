"""This process's job: what the shell stops, wakes, and gives the terminal to or takes it from."""

import errno
import signal
import termios
import time

from homeroom.session import terminal
from homeroom.session.signals import Signals


class Job:
    """The process group that this process is in.

    Args:
        signals: This process's signals.

    Attributes:
        has_terminal: Whether the terminal on standard input is this job's to use, now or as
            soon as a shell brings it to the front.
        paused: How long this job was stopped in all, in seconds.
    """

    def __init__(self, signals: Signals) -> None:
        self._signals = signals
        # One that a shell has stopped and woken is brought to the front some time; of one
        # that was started in the background (`&`, timeout) nobody knows that.
        self.has_terminal = terminal.is_own() and (not terminal.is_lent() or signals.is_resumed)
        self.paused = 0.0

    def is_left_behind(self) -> bool:
        """Tell whether another job has the terminal that was this one's."""
        return self.has_terminal and terminal.is_lent()

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
        if not self.has_terminal:
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
