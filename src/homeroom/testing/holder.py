"""Stands in for the user's shell in a terminal: starts one program in the foreground.

Run as ``python holder.py JOB``, with nothing but the standard library. As with a shell, the
program is no session leader, and the terminal outlives it: tmux may drop what a program
printed last when the terminal ends with it (3.3a: one in twenty measured).
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

NOT_FOUND = 127  # as shells have it


def hold(job: Path) -> None:
    """Run the program that a job file describes, and report its pid and its status."""
    what = json.loads(job.read_text(encoding="utf-8"))
    # tcsetpgrp stops a caller in the background by this signal, which the child is.
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        program = subprocess.Popen(
            what["argv"],
            env={"TERM": os.environ["TERM"]} | what["env"],
            cwd=what["cwd"],
            process_group=0,
            preexec_fn=_come_to_the_foreground,  # noqa: PLW1509 - there are no threads
        )
    except OSError as error:
        sys.stderr.write(f"{what['argv'][0]}: {error.strerror}\n")
        _report(job.with_name("status"), NOT_FOUND)
    else:
        _report(job.with_name("pid"), program.pid)
        status = program.wait()
        _report(job.with_name("status"), status if status >= 0 else 128 - status)
    signal.pause()


def _come_to_the_foreground() -> None:
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)


def _report(path: Path, number: int) -> None:
    unfinished = path.with_suffix(".new")
    unfinished.write_text(str(number))
    unfinished.rename(path)


if __name__ == "__main__":
    hold(Path(sys.argv[1]))
