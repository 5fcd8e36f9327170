"""When a run is ended though nobody asked."""

import time
from collections.abc import Callable

import msgspec


class Limits(msgspec.Struct, frozen=True):
    """How long a run may take.

    Attributes:
        seconds: After this long it is ended; None for never.
        max_idle: After this long without activity; None for never.
        last_activity: Tells when there was some last, in seconds since the epoch.
    """

    seconds: float | None = None
    max_idle: float | None = None
    last_activity: Callable[[], float] = time.time

    @property
    def is_set(self) -> bool:
        """Whether there is any."""
        return self.seconds is not None or self.max_idle is not None


class Timer:
    """What is left of a run's time, counted from now.

    Args:
        limits: How long it may take.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._begun = time.monotonic()
        self._activity = (0.0, self._begun)

    def is_over(self) -> bool:
        """Tell whether it took too long, or nothing happened for too long."""
        limits, now = self._limits, time.monotonic()
        if limits.seconds is not None and now - self._begun > limits.seconds:
            return True
        if limits.max_idle is None:
            return False
        # When it was is seen by a clock that may be set; how long ago, by one that is not.
        latest = limits.last_activity()
        if latest != self._activity[0]:
            self._activity = (latest, now)
        return now - self._activity[1] > limits.max_idle
