"""Whatever file operation of sweep and stop fails: it is told as it is, and made good later."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from homeroom import home
from homeroom.home import instance_of
from homeroom.run import lock, record
from homeroom.run.find import lock_file
from tests.life.scene import Scene, holding
from tests.support.faults import ERRORS, Fault, failing
from tests.support.runs import leftovers
from tests.support.tree import snapshot

FEWEST = 30
# With each of them every operation meets another of the errors; a soak goes through all.
SHIFTS = range(len(ERRORS) if os.environ.get("HOMEROOM_SOAK") else 1)
# Says that it has the lock, and dies of the first signal: nothing closes its record.
HOLDER = """
import fcntl, os, sys, time
held = os.open(sys.argv[1], os.O_RDWR)
fcntl.flock(held, fcntl.LOCK_EX)
print(flush=True)
time.sleep(100)
"""


def said(capsys: pytest.CaptureFixture[str], status: int, where: str) -> list[dict[str, Any]]:
    """Read what a command printed; when it could do nothing at all, that it explained why."""
    out, err = capsys.readouterr()
    assert "Traceback" not in err, f"{where}: {err}"
    assert status in (0, 1, 73, 74, 78), f"{where}: {status} {err}"
    document = json.loads(out)
    if status > 1:
        assert document["error"]["exit_code"] == status, where
        assert "homeroom: error: " in err, where
        return []
    rows: list[dict[str, Any]] = document.get("entries", document.get("runs"))
    failed = [row for row in rows if "failed" in (row.get("verdict"), row.get("how"))]
    assert status == (1 if failed else 0), where
    return rows


@pytest.mark.parametrize("shift", SHIFTS)
def test_a_sweep_in_which_something_fails_tells_it_and_the_next_does_the_rest(
    scene: Scene, shift: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each operation with one of the errors in turn."""
    living, held = scene.alive()
    with held:
        live = snapshot(instance_of(scene.paths, living).home)
        for number in range(1, 1000):
            dead, others = scene.begin(), scene.leftovers()
            scene.age()
            error = ERRORS[(number + shift) % len(ERRORS)]
            fault = Fault(scene.paths.state.parent, number, error)
            with failing(fault):
                status = scene.main("sweep")
            where = f"{error} at {number}: {fault.seen[number - 1 : number]}"
            for row in said(capsys, status, where):
                where_row = f"{where}: {row}"
                if row["verdict"] == "failed":
                    assert fault.words in row["reason"], where_row
                elif row["name"] == living:
                    assert row["verdict"] == "spared", where_row
                elif row["verdict"] == "removed" and row["name"] == dead:
                    assert scene.is_gone(dead), where_row
                    assert scene.state_of(dead) == "crashed", where_row
                elif row["verdict"] == "removed":
                    assert row["name"] in [dead, *others] or row["name"].startswith(
                        (dead, dead[4:16])
                    ), where_row
            scene.age()
            assert scene.main("sweep") == 0, f"{where}: {capsys.readouterr()}"
            rows = said(capsys, 0, where)
            assert {row["verdict"] for row in rows if row["name"] != living} <= {"removed"}, where
            assert scene.is_gone(dead), where
            assert scene.state_of(dead) == "crashed", where
            assert scene.main("sweep") == 0
            assert [row["name"] for row in said(capsys, 0, where)] == [living], where
            assert snapshot(instance_of(scene.paths, living).home) == live, where
            assert lock.is_held(lock_file(scene.paths, living))
            if not fault.happened:
                break
            for path in scene.paths.runs.glob("*.json"):
                if not path.name.startswith(living):
                    path.unlink()
        assert number > FEWEST
        home.wipe(instance_of(scene.paths, living), scene.paths.trash)
        record.save(
            scene.paths.runs / f"{living}.json",
            record.read(scene.paths.runs / f"{living}.json").moved("failed"),
        )
    assert leftovers(scene.paths.state.parent) == []
    assert holding(scene.paths.state.parent) == []


@contextmanager
def supervised(scene: Scene) -> "Iterator[tuple[str, subprocess.Popen[bytes]]]":
    """Make a run whose lock another process holds."""
    lock_of_all = scene.paths.state / "some.lock"
    scene.paths.state.mkdir(parents=True, mode=0o700, exist_ok=True)
    lock_of_all.touch(0o600)
    argv = [sys.executable, "-S", "-E", "-c", HOLDER, str(lock_of_all)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        holder.stdout.readline()
        run_id = scene.begin(supervisor=holder.pid)
        lock_of_all.replace(lock_file(scene.paths, run_id))
        try:
            yield run_id, holder
        finally:
            holder.kill()


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("is_alive", [True, False])
def test_a_stop_in_which_something_fails_tells_it_and_a_sweep_does_the_rest(
    scene: Scene, shift: int, *, is_alive: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each operation with one of the errors in turn, of a living run and of a dead one."""
    for number in range(1, 1000):
        with supervised(scene) as (run_id, holder):
            if not is_alive:
                holder.kill()
                holder.wait()
            error = ERRORS[(number + shift) % len(ERRORS)]
            fault = Fault(scene.paths.state.parent, number, error)
            with failing(fault):
                status = scene.main("stop", run_id)
            where = f"{error} at {number}: {fault.seen[number - 1 : number]}"
            rows = said(capsys, status, where)
            for row in rows:
                if row["how"] == "failed":
                    assert fault.words in row["note"], f"{where}: {row}"
                else:
                    assert scene.is_gone(run_id), f"{where}: {row}"
                    assert scene.state_of(run_id) == "crashed", f"{where}: {row}"
        holder.wait()
        scene.age()
        assert scene.main("sweep") == 0, f"{where}: {capsys.readouterr()}"
        said(capsys, 0, where)
        assert scene.is_gone(run_id), where
        assert scene.state_of(run_id) == "crashed", where
        assert holding(scene.paths.state.parent) == [], where
        assert scene.main("sweep") == 0
        assert said(capsys, 0, where) == [], where
        if not fault.happened:
            break
        (scene.paths.runs / f"{run_id}.json").unlink()
    assert number > FEWEST
