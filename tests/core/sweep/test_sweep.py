"""What dead runs left is removed; what lives, is young, or is not ours is not."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from homeroom import home
from homeroom.errors import StateError, StorageError
from homeroom.home import Instance, new_run_id
from homeroom.paths import Paths
from homeroom.process import RUN_VARIABLE
from homeroom.run import record
from homeroom.run.record import Record
from homeroom.run.sweep import THROTTLE, is_due, sweep
from tests.core.kinds import dig
from tests.core.sweep.scene import (
    FOREIGN,
    OLD,
    begin,
    crashed,
    lock_file,
    record_file,
    shift,
    state_of,
    verdicts,
)
from tests.support.tree import snapshot


def test_with_nothing_there_nothing_is_made(paths: Paths) -> None:
    assert sweep(paths).entries == []
    assert not paths.state.exists()


def test_a_dead_run_is_removed_and_its_record_says_so(paths: Paths) -> None:
    instance = crashed(paths)
    assert verdicts(paths) == {instance.run_id: "removed"}
    assert not os.path.lexists(instance.root)
    assert not os.path.lexists(instance.temp)
    assert not lock_file(paths, instance.run_id).exists()
    found = record.read(record_file(paths, instance.run_id))
    assert found.state == "crashed"
    assert found.note
    assert found.ended
    assert verdicts(paths) == {}


def test_a_dry_run_says_the_same_and_does_nothing(paths: Paths) -> None:
    instance = crashed(paths)
    (paths.trash / "leftover").mkdir(parents=True)
    paths.trash.chmod(0o700)
    before = snapshot(paths.state.parent)
    assert verdicts(paths, dry_run=True) == {
        instance.run_id: "would remove",
        "leftover": "would remove",
    }
    assert snapshot(paths.state.parent) == before


def test_a_live_run_is_spared_however_old(paths: Paths) -> None:
    instance, taken = begin(paths)
    shift(paths, instance.run_id, 10 * OLD)
    before = snapshot(instance.root), snapshot(instance.temp)
    for dry_run in (True, False):
        (entry,) = sweep(paths, dry_run=dry_run).entries
        assert (entry.verdict, entry.reason) == ("spared", "it is alive")
    assert (snapshot(instance.root), snapshot(instance.temp)) == before
    taken.release()


def test_a_run_of_another_process_lives_until_that_is_killed(paths: Paths) -> None:
    code = (
        "import sys, time\n"
        "from tests.core.sweep.scene import begin\n"
        "from homeroom.paths import locate\n"
        "print(begin(locate({'HOMEROOM_HOME': sys.argv[1]}))[0].run_id, flush=True)\n"
        "time.sleep(60)\n"
    )
    supervisor = subprocess.Popen(
        [sys.executable, "-c", code, str(paths.state.parent)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert supervisor.stdout is not None
    try:
        run_id = supervisor.stdout.readline().strip()
        shift(paths, run_id, OLD)
        assert verdicts(paths) == {run_id: "spared"}
    finally:
        supervisor.kill()
        supervisor.communicate()
    assert verdicts(paths) == {run_id: "removed"}


@pytest.mark.parametrize("part", ["lock", "record", "room"])
def test_anything_young_about_a_run_spares_it(paths: Paths, part: str) -> None:
    instance = crashed(paths)
    young = {
        "lock": lock_file(paths, instance.run_id),
        "record": record_file(paths, instance.run_id),
        "room": instance.root,
    }[part]
    os.utime(young)
    assert verdicts(paths) == {instance.run_id: "spared"}
    assert instance.root.is_dir()


def test_a_clock_that_was_set_back_keeps_nothing_for_ever(paths: Paths) -> None:
    instance = crashed(paths, -10 * OLD)
    assert verdicts(paths) == {instance.run_id: "removed"}


def test_an_agent_that_outlived_its_supervisor_is_ended_first(paths: Paths) -> None:
    instance = crashed(paths)
    # One that does not end when it is asked to.
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True)"
    agent = subprocess.Popen(
        [sys.executable, "-c", f"{code}; time.sleep(60)"],
        env={RUN_VARIABLE: instance.run_id},
        stdout=subprocess.PIPE,
    )
    assert agent.stdout is not None
    agent.stdout.readline()
    report = sweep(paths)
    assert agent.wait(timeout=10) == -9
    agent.stdout.close()
    assert "1 orphaned processes ended" in report.entries[0].reason
    assert not instance.root.exists()


def test_one_run_that_cannot_be_removed_keeps_no_other(paths: Paths) -> None:
    first, second, third = sorted((crashed(paths) for _ in range(3)), key=lambda run: run.run_id)

    def archive(instance: Instance, _of: Record) -> None:
        if instance == second:
            raise RecursionError("as deep as an agent can dig")

    found = verdicts(paths, archive=archive)
    assert found == {first.run_id: "removed", second.run_id: "failed", third.run_id: "removed"}
    assert second.root.is_dir()
    assert verdicts(paths) == {second.run_id: "removed"}


def test_what_is_kept_of_a_run_is_taken_before_its_room_goes(paths: Paths) -> None:
    instance = crashed(paths)
    seen = []

    def archive(of: Instance, known: Record) -> None:
        seen.append((of, known.run_id, of.home.is_dir()))

    sweep(paths, archive=archive)
    assert seen == [(instance, instance.run_id, True)]


def test_a_run_whose_record_is_lost_or_damaged_is_removed_too(paths: Paths) -> None:
    lost, damaged = crashed(paths), crashed(paths)
    record_file(paths, lost.run_id).unlink()
    record_file(paths, damaged.run_id).write_bytes(b"{")
    shift(paths, damaged.run_id, OLD)
    asked: list[str] = []
    found = verdicts(paths, archive=lambda instance, _: asked.append(instance.run_id))
    assert found == {lost.run_id: "removed", damaged.run_id: "removed"}
    assert asked == []


def test_a_run_that_died_before_its_room_was_made_is_closed(paths: Paths) -> None:
    instance = crashed(paths)
    home.wipe(instance, paths.trash)
    assert verdicts(paths) == {instance.run_id: "removed"}
    assert state_of(paths, instance.run_id) == "crashed"


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("has_lock", [True, False])
def test_what_is_not_homerooms_is_left_alone(
    paths: Paths, tmp_path: Path, kind: str, has_lock: bool
) -> None:
    outside = tmp_path / "outside"
    (outside / "precious").mkdir(parents=True)
    run_id = new_run_id()
    for directory in (paths.instances, paths.runs):
        directory.mkdir(parents=True, mode=0o700)
    FOREIGN[kind](paths.instances / run_id, outside)
    if has_lock:
        lock_file(paths, run_id).touch()
    shift(paths, run_id, OLD)
    before = snapshot(paths.instances), snapshot(outside)
    assert verdicts(paths) == {run_id: "spared"}
    assert (snapshot(paths.instances), snapshot(outside)) == before


@pytest.mark.parametrize(
    "name",
    ["precious", "run_", "run_" + "0" * 31, "run_" + "A" * 32, "run_" + "0" * 33, "..run", "CACHE"],
)
def test_what_is_not_named_like_a_run_is_not_even_mentioned(paths: Paths, name: str) -> None:
    for directory in (paths.instances, paths.runs):
        (directory / name / "precious").mkdir(parents=True)
    before = snapshot(paths.state)
    assert verdicts(paths) == {}
    assert snapshot(paths.state) == before


def test_a_root_of_instances_that_is_a_symlink_is_refused(paths: Paths, tmp_path: Path) -> None:
    paths.state.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    paths.instances.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateError, match="is a symlink"):
        sweep(paths)


def test_what_earlier_wipes_could_not_finish_is_finished(paths: Paths) -> None:
    for trash in (paths.trash, paths.temp / "trash"):
        (trash / "leftover" / "closed").mkdir(parents=True)
        (trash / "leftover" / "closed").chmod(0)
        trash.chmod(0o700)
        trash.parent.chmod(0o700)
    assert [entry.verdict for entry in sweep(paths).entries] == ["removed", "removed"]
    assert os.listdir(paths.trash) == os.listdir(paths.temp / "trash") == []


def test_a_trash_that_someone_else_prepared_is_reported_and_not_followed(
    paths: Paths, tmp_path: Path
) -> None:
    precious = tmp_path / "precious"
    (precious / "data").mkdir(parents=True)
    paths.temp.mkdir(parents=True, mode=0o700)
    (paths.temp / "trash").symlink_to(precious)
    instance = crashed(paths)
    found = verdicts(paths)
    assert (precious / "data").is_dir()
    assert found[str(paths.temp / "trash")] == "failed"
    assert instance.run_id in found


def test_a_leftover_that_cannot_be_removed_is_reported_and_keeps_no_other(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (paths.trash / name).mkdir(parents=True, mode=0o700)
    paths.trash.chmod(0o700)
    paths.state.chmod(0o700)
    from homeroom import trash

    def fail_at_b(tree: Path) -> None:
        if tree.name == "b":
            raise StorageError(f"cannot remove {tree}: busy")
        shutil.rmtree(tree)

    monkeypatch.setattr(trash, "remove_trees", fail_at_b)
    assert verdicts(paths) == {"a": "removed", "b": "failed", "c": "removed"}


def test_a_room_of_any_depth_is_no_trouble(paths: Paths) -> None:
    instance = crashed(paths)
    dig(instance.home, 3000)
    assert verdicts(paths) == {instance.run_id: "removed"}


def test_a_sweep_of_its_own_is_due_once_a_minute(paths: Paths) -> None:
    assert is_due(paths)
    assert not is_due(paths)
    stamp = paths.state / "last-sweep"
    at = time.time() - THROTTLE - 1
    os.utime(stamp, (at, at))
    assert is_due(paths)
    assert not is_due(paths)
    os.utime(stamp, (time.time() + 1000, time.time() + 1000))
    assert is_due(paths), "the clock was set back"
