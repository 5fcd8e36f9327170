"""While a run is suspended, nothing of its agent goes on."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from homeroom.process import RUN_VARIABLE, freeze, send

RUN = "run_" + "f" * 32
# An agent with a child, one in a session of its own, one that its parent has left, and one
# that stands still of itself.
AGENT = """
sleep 600 & echo $! >>pids
setsid sleep 600 & echo $! >>pids
(setsid sleep 600 & echo $! >>pids)
sleep 600 & echo $! >still; kill -STOP $!
echo $$ >agent
while :; do sleep 0.01; done
"""

# The second: it waits in vfork(2) for a child that was stopped before it was a program.
STILL = (psutil.STATUS_STOPPED, psutil.STATUS_DISK_SLEEP)


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    env = os.environ | {RUN_VARIABLE: RUN}
    child = subprocess.Popen(
        ["sh", "-c", 'sh -c "$1" & wait', "sh", AGENT], env=env, cwd=tmp_path, process_group=0
    )
    deadline = time.monotonic() + 20
    while not (tmp_path / "agent").exists() or not (tmp_path / "agent").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    yield child
    for process in psutil.process_iter():
        try:
            if process.environ().get(RUN_VARIABLE) == RUN:
                process.kill()
        except (psutil.Error, OSError):
            continue
    child.wait()


def _pids(path: Path) -> list[int]:
    return [int(line) for line in path.read_text().split()]


def test_all_of_an_agent_stands_still_and_what_started_it_goes_on(
    sandbox: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    [agent] = _pids(tmp_path / "agent")
    [still] = _pids(tmp_path / "still")
    deadline = time.monotonic() + 20
    while psutil.Process(still).status() != psutil.STATUS_STOPPED:
        # It was told so, and may not have come to it yet.
        assert time.monotonic() < deadline
        time.sleep(0.01)
    stopped = freeze(agent, sandbox.pid, RUN)
    for pid in (agent, *_pids(tmp_path / "pids")):
        assert psutil.Process(pid).status() in STILL
        assert pid in stopped
    assert psutil.Process(sandbox.pid).status() != psutil.STATUS_STOPPED
    # What stood still of itself is not woken with the others.
    assert still not in stopped
    for pid in stopped:
        # One may have been about to end when it was to be stopped.
        send(pid, signal.SIGCONT)
    assert psutil.Process(still).status() == psutil.STATUS_STOPPED
