"""Keep tools that clean up from being struck by what is meant for the run."""

import contextlib
import signal
from collections.abc import Iterator

# What a terminal, or whoever ends a job, sends to all of a process group.
_HELD = frozenset({signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP})


@contextlib.contextmanager
def sheltered() -> Iterator[None]:
    """Hold back these signals from this thread, and from every program that it starts.

    A mask is inherited (sigprocmask(2), execve(2)), and holds from the first moment: with a
    process group of its own a program could still be stopped between fork and exec, and its
    parent with it. What comes meanwhile reaches this process at the end.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
