"""Runs a command and reports which of its descendants outlived it.

usage: python subreaper.py REPORT COMMAND [ARGUMENT...]

The kernel gives this process whatever the command leaves behind, in whatever session or
process group it hid (PR_SET_CHILD_SUBREAPER in prctl(2)), so that nothing is overlooked.
The report holds one command line for each; the exit status is the command's own.
"""

import ctypes
import subprocess
import sys
import time
from pathlib import Path

import psutil

_PR_SET_CHILD_SUBREAPER = 36
# What was told to end may need a moment for it.
_PATIENCE = 2.0


def main(report: Path, command: list[str]) -> int:
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    status = subprocess.call(command)
    deadline = time.monotonic() + _PATIENCE
    while (left := survivors()) and time.monotonic() < deadline:
        time.sleep(0.02)
    report.write_text("".join(f"{line}\n" for line in left.values()))
    for process in left:
        process.kill()
    return status if status >= 0 else 128 - status


def survivors() -> dict[psutil.Process, str]:
    found: dict[psutil.Process, str] = {}
    for process in psutil.Process().children(recursive=True):
        try:
            if process.status() != psutil.STATUS_ZOMBIE:
                found[process] = " ".join(process.cmdline()) or process.name()
        except psutil.NoSuchProcess:
            continue
    return found


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
