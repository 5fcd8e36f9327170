"""What a run's prelude and its supervisor tell each other, by two FIFOs."""

import contextlib
import os
from pathlib import Path

_LIMIT = 65536


class Control:
    """Both FIFOs, held open as long as the supervisor lives.

    The agent can reach them too: what is heard here is not always the prelude's word.

    Args:
        directory: Where they are.

    Raises:
        OSError: One of them cannot be opened.
    """

    def __init__(self, directory: Path) -> None:
        self._rest = b""
        self._open: list[int] = []
        # Both ends at once: opening then never waits, and no reader sees an end of file.
        flags = os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            for name in ("said", "told"):
                self._open.append(os.open(directory / name, flags))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close both: whoever waits at the other end learns that nobody is left."""
        while self._open:
            os.close(self._open.pop())

    def fileno(self) -> int:
        """Return a descriptor that is readable when something was said."""
        return self._open[0]

    def hear(self) -> list[str]:
        """Read the lines that were said since the last time."""
        try:
            self._rest += os.read(self._open[0], _LIMIT)
        except BlockingIOError:
            return []
        *lines, rest = self._rest.split(b"\n")
        self._rest = rest[:_LIMIT]
        return [line.decode(errors="replace") for line in lines]

    def let_go(self) -> None:
        """Tell whoever waits to go on."""
        # The agent can fill the FIFO: then there is enough in it to be told by.
        with contextlib.suppress(BlockingIOError):
            os.write(self._open[1], b"go\n")

    def take_back(self) -> None:
        """Remove what was told and not heard yet, by whomever."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self._open[1], _LIMIT):
                pass
