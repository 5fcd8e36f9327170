"""Signals as exceptions, once: so that an interrupted install still cleans up."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal asked to end.

    Args:
        number: Of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.strsignal(number))
        self.number = number


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Raise ``Interrupted`` at the first signal to end, and let none disturb what follows.

    A signal that was ignored before stays ignored (``nohup``).

    Raises:
        Interrupted: In the middle of whatever the main thread does.
    """

    def interrupt(number: int, _frame: FrameType | None) -> None:
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        raise Interrupted(number)

    before = {
        each: handler
        for each in _SIGNALS
        if (handler := signal.getsignal(each)) is not signal.SIG_IGN
    }
    try:
        for each in before:
            signal.signal(each, interrupt)
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
