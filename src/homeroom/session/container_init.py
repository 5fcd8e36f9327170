"""The first process of a run's container, executed there by the image's own Python.

It is handed the supervisor's own streams over a socket, so that the run has the very
terminal, pipes and files of its caller: nothing is copied back and forth, and nothing breaks
when the engine dies. It imports nothing of homeroom, which is not in the image.

usage: container_init.py SOCKET COMMAND [ARGUMENT…]
"""

import contextlib
import os
import signal
import socket
import sys
from collections.abc import Sequence
from types import FrameType

_STREAMS = 3


def main(arguments: Sequence[str]) -> int:
    """Start the command with the streams that come over the socket, and tell how it ended.

    Args:
        arguments: The socket's path, then the command.

    Returns:
        The command's exit status, or 128 and the signal that ended it.
    """
    place, *command = arguments
    # Kept open, and closed in the command: the supervisor sees its end as this one's end.
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as channel:
        channel.connect(place)
        mask, streams, _, _ = socket.recv_fds(channel, 16, _STREAMS)
        if len(streams) < _STREAMS:
            return 127  # the supervisor has gone
        child = os.fork()
        if child == 0:
            os.umask(int(mask))
            _become(command, streams)
        for stream in streams:
            os.close(stream)
        asked: list[int] = []

        def hand_on(number: int, _: FrameType | None) -> None:
            asked.append(number)
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, number)

        signal.signal(signal.SIGTERM, hand_on)
        status = os.waitstatus_to_exitcode(_await(child))
        # srt kills what it runs and ends with 0: no success, when the engine is stopped.
        status = status or -sum(asked[:1])
        with contextlib.suppress(OSError):
            channel.send(str(status).encode())
            # Until then the supervisor can take this process's number for this process.
            channel.recv(1)
    return status if status >= 0 else 128 - status


def _become(command: list[str], streams: Sequence[int]) -> None:
    try:
        os.setsid()
        # Python ignores these, and what is executed would inherit that.
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        # Their numbers are above those that they get.
        for target, stream in enumerate(streams):
            os.dup2(stream, target)
            os.close(stream)
        os.execvp(command[0], command)  # noqa: S606
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def _await(child: int) -> int:
    """Wait for the command, and meanwhile for the orphans that the first process inherits."""
    while True:
        ended, status = os.wait()
        if ended == child:
            return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
