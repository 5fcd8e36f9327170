"""The matrix in a real engine: what it catches, and what it leaves behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from homeroom.toolchain.store import Toolchain
from matrix import engine, owner
from matrix.context import ROOT
from tests.matrix.packing import pack

pytestmark = [pytest.mark.docker, pytest.mark.network, pytest.mark.timeout(600)]


def command(module: str, toolchain: Toolchain, *arguments: str | Path) -> list[str]:
    """Run with the caller's own environment: it leads to the engine and to the registries."""
    environ = ["env", f"HOMEROOM_TOOLCHAIN={toolchain.root}"]
    return [*environ, sys.executable, "-m", module, *map(str, arguments)]


def run(module: str, toolchain: Toolchain, *arguments: str | Path) -> tuple[int, str]:
    done = subprocess.run(
        command(module, toolchain, *arguments),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def containers(of: int | None = None) -> list[str]:
    """List the containers of matrices, or those of one."""
    client = engine.connect()
    listed = client.api.containers(all=True, filters={"label": owner.LABEL})
    owners = {each["Id"]: each["Labels"][owner.LABEL] for each in listed}
    return [each for each, name in owners.items() if of is None or f"/{of}/" in name]


def wait_until_cells_run(pid: int) -> None:
    deadline = time.monotonic() + 300
    while not containers(of=pid):
        assert time.monotonic() < deadline
        time.sleep(0.2)


@contextmanager
def started(toolchain: Toolchain, *arguments: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        command("matrix", toolchain, *arguments), cwd=ROOT, start_new_session=True
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def test_an_srt_that_ignores_one_deny_is_caught_and_found(
    toolchain: Toolchain, tmp_path: Path
) -> None:
    good = pack(toolchain, tmp_path, "0.0.901")
    broken = pack(toolchain, tmp_path, "0.0.902", broken=True)
    output = ("--output", tmp_path / "results")
    status, told = run("matrix", toolchain, "--package", broken, *output)
    assert status == 1
    assert "srt 0.0.902 as plain" in told
    assert "(read.user-home): open, not refused" in told
    ends = ("--good", "0.0.83", "--package", good, "--package", broken)
    status, told = run("matrix.bisection", toolchain, "read.user-home", *ends, *output)
    assert status == 0
    assert "srt 0.0.901: refused" in told
    assert "srt 0.0.902: open" in told
    assert told.endswith("the first version with another read.user-home is srt 0.0.902\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_middle_leaves_nothing(
    toolchain: Toolchain, tmp_path: Path, number: signal.Signals
) -> None:
    with started(toolchain, "--srt", "0.0.83", "--output", tmp_path) as child:
        wait_until_cells_run(child.pid)
        os.kill(child.pid, number)
        assert child.wait(60) == 128 + number
        assert containers(of=child.pid) == []


def test_what_a_killed_one_left_the_next_removes_and_spares_the_one_beside_it(
    toolchain: Toolchain, tmp_path: Path
) -> None:
    with (
        started(toolchain, "--srt", "0.0.83", "--output", tmp_path / "a") as killed,
        started(toolchain, "--srt", "0.0.83", "--output", tmp_path / "b") as beside,
    ):
        wait_until_cells_run(killed.pid)
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        assert containers(of=killed.pid) != []
        wait_until_cells_run(beside.pid)
        engine.remove_leftovers(engine.connect())
        assert containers(of=killed.pid) == []
        assert beside.wait(300) == 0
