"""What dead runs left is removed; what lives, is young, or is not ours is not."""

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from homeroom import home
from homeroom.home import instance_of, new_run_id
from homeroom.paths import locate
from homeroom.run import lock, record
from homeroom.run.lock import RunLock
from homeroom.run.sweep import YOUNGEST, sweep
from tests.core.sweep.scene import (
    FOREIGN,
    OLD,
    begin,
    lock_file,
    record_file,
    shift,
    state_of,
)
from tests.support.tree import remove_tree, snapshot


class Sweeping(RuleBasedStateMachine):
    """Runs that start, end and crash, time that passes, strangers: and sweeps among them."""

    runs: Bundle[str] = Bundle("runs")

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp(prefix="hr-sweep-", dir=os.path.realpath("/tmp")))
        self.paths = locate({"HOMEROOM_HOME": str(self.base / "r")})
        self.outside = self.base / "outside"
        self.live: dict[str, RunLock] = {}
        self.rooms: dict[str, Any] = {}
        self.dead: dict[str, float] = {}
        self.foreign: dict[Path, Any] = {}

    @initialize()
    def prepare(self) -> None:
        (self.outside / "precious").mkdir(parents=True)
        for directory in (self.paths.instances, self.paths.runs):
            directory.mkdir(parents=True, mode=0o700)
        self.before = snapshot(self.outside)

    @rule(target=runs)
    def start(self) -> str:
        instance, taken = begin(self.paths)
        self.live[instance.run_id] = taken
        self.rooms[instance.run_id] = snapshot(instance.root)
        return instance.run_id

    @rule(run_id=consumes(runs))
    def end(self, run_id: str) -> None:
        if run_id in self.live:
            instance = instance_of(self.paths, run_id)
            home.wipe(instance, self.paths.trash)
            path = record_file(self.paths, run_id)
            record.save(path, record.read(path).moved("failed"))
            self.live.pop(run_id).release()

    @rule(run_id=runs, loses=st.sampled_from(["nothing", "record", "lock", "room", "home"]))
    def crash(self, run_id: str, loses: str) -> None:
        if run_id not in self.live:
            return
        instance = instance_of(self.paths, run_id)
        self.live.pop(run_id).abandon()
        if loses == "record":
            record_file(self.paths, run_id).unlink()
        elif loses == "lock":
            lock_file(self.paths, run_id).unlink()
        elif loses == "room":
            home.wipe(instance, self.paths.trash)
        elif loses == "home":
            os.rename(instance.home, instance.root / "moved")
        self.dead[run_id] = time.time()

    @rule(seconds=st.sampled_from([30.0, OLD, -OLD]))
    def time_passes(self, seconds: float) -> None:
        for run_id in (*self.live, *self.dead):
            shift(self.paths, run_id, seconds)
            if run_id in self.live:
                self.rooms[run_id] = snapshot(instance_of(self.paths, run_id).root)

    @rule(kind=st.sampled_from(sorted(FOREIGN)), has_lock=st.booleans())
    def stranger(self, kind: str, has_lock: bool) -> None:
        run_id = new_run_id()
        path = self.paths.instances / run_id
        FOREIGN[kind](path, self.outside)
        if has_lock:
            lock_file(self.paths, run_id).touch()
        shift(self.paths, run_id, OLD)
        self.foreign[path] = snapshot(path)

    @rule()
    def sweep(self) -> None:
        expected = {run_id: self.is_old(run_id) for run_id in self.dead}
        sweep(self.paths)
        for run_id, is_old in expected.items():
            instance = instance_of(self.paths, run_id)
            if is_old:
                assert not os.path.lexists(instance.root)
                assert not os.path.lexists(instance.temp)
                assert not os.path.lexists(lock_file(self.paths, run_id))
                if record_file(self.paths, run_id).exists():
                    assert state_of(self.paths, run_id) == "crashed"
                del self.dead[run_id]
        assert sweep(self.paths).count("removed") == 0

    def is_old(self, run_id: str) -> bool:
        instance = instance_of(self.paths, run_id)
        now = time.time()
        times = [
            os.lstat(path).st_mtime
            for path in (
                lock_file(self.paths, run_id),
                record_file(self.paths, run_id),
                instance.root,
            )
            if os.path.lexists(path)
        ]
        return all(at > now + 1 or now - at >= YOUNGEST for at in times)

    @invariant()
    def live_rooms_are_untouched(self) -> None:
        for run_id in self.live:
            instance = instance_of(self.paths, run_id)
            assert snapshot(instance.root) == self.rooms[run_id]
            assert instance.tmp.is_dir()
            assert lock.is_held(lock_file(self.paths, run_id))
            assert state_of(self.paths, run_id) == "allocated"

    @invariant()
    def young_rooms_are_there(self) -> None:
        for run_id in self.dead:
            present = [record_file(self.paths, run_id), lock_file(self.paths, run_id)]
            assert any(os.path.lexists(path) for path in present)

    @invariant()
    def strangers_are_untouched(self) -> None:
        assert {path: snapshot(path) for path in self.foreign} == self.foreign
        if self.outside.exists():
            assert snapshot(self.outside) == self.before

    def teardown(self) -> None:
        for taken in self.live.values():
            taken.abandon()
        remove_tree(self.base)


TestSweeping = Sweeping.TestCase


TestSweeping.settings = settings(max_examples=12, stateful_step_count=20, deadline=None)
