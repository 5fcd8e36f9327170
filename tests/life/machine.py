"""A state machine over whole homeroom processes: what they do at once, and what stays true.

Each run is a real one, in the real sandbox; its agent is the kit's, which waits at its prompt
until its input ends.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from homeroom.files import create_private
from homeroom.home import RUN_ID, instance_of
from homeroom.paths import locate
from homeroom.run import lock
from homeroom.run.find import lock_file
from homeroom.run.record import _NEXT, FINAL, RunState
from homeroom.run.sweep import YOUNGEST
from tests.support.runs import assert_nothing_left, processes
from tests.support.tree import Snapshot, changes, remove_tree, snapshot

ADAPTER = "homeroom.testing.fake:FakeProvider"
ACCESS = "kit-access-of-the-machine"
RENEWAL = "kit-renewal-of-the-machine"
OLD = YOUNGEST + 60
PATIENCE = 60.0
Process = subprocess.Popen[str]
# Numbers and no names: what is drawn must not hang on when something was killed.
WHICH = st.integers(0, 7)


@dataclass
class Live:
    """A run whose agent waits for input.

    Attributes:
        process: Its supervisor.
        room: What its home holds.
    """

    process: Process
    room: Snapshot


class Homerooms(RuleBasedStateMachine):
    """Starts, ends, stops, crashes and sweeps by several processes; time that passes."""

    toolchain: Path

    def __init__(self) -> None:
        super().__init__()
        # Short, because the path of a unix socket ends at 107 bytes.
        self.base = Path(tempfile.mkdtemp(prefix="hr-m-", dir=os.path.realpath("/tmp")))
        self.root, self.user = self.base / "r", self.base / "home"
        self.env = {
            "HOME": str(self.user),
            "HOMEROOM_HOME": str(self.root),
            "HOMEROOM_TOOLCHAIN": str(self.toolchain),
            "LANG": "C.UTF-8",
            "PATH": os.environ["PATH"],
        }
        self.paths = locate(self.env)
        self.live: dict[str, Live] = {}
        self.dead: list[str] = []
        self.wiped: Counter[str] = Counter()
        self.states: dict[str, RunState] = {}
        self.finished: dict[str, bytes] = {}
        self.number = 0
        self.bystander = subprocess.Popen(["sleep", "3600"])

    @initialize()
    def prepare(self) -> None:
        (self.user / "work").mkdir(parents=True, mode=0o700)
        self.master = self.user / ".fake-agent"
        self.master.mkdir(mode=0o700)
        grant = {"access_token": ACCESS, "refresh_token": RENEWAL, "account": "me"}
        grant["expires_at"] = time.time() + 86400  # type: ignore[assignment]
        create_private(self.master / "login.json", json.dumps({"grant": grant}).encode())
        self.before = snapshot(self.master)

    # --- what happens ---------------------------------------------------------------------

    @precondition(lambda self: len(self.live) < 4)
    @rule(count=st.integers(1, 2))
    def start(self, count: int) -> None:
        begun = [self._start() for _ in range(count)]
        for name, process in begun:
            run_id = self._await_running(name, process)
            self.live[run_id] = Live(process, snapshot(instance_of(self.paths, run_id).home))

    @rule(pause=st.sampled_from([0.2, 0.4, 0.6, 0.8, 1.2]))
    def start_and_crash(self, pause: float) -> None:
        """The supervisor is killed somewhere in its launch, or before it."""
        name, process = self._start()
        time.sleep(pause)
        self._kill(process)
        self.dead += [one["run_id"] for one in self._records() if one["name"] == name]

    @precondition(lambda self: self.live)
    @rule(which=WHICH)
    def end(self, which: int) -> None:
        """The agent ends by itself."""
        run_id = [*self.live][which % len(self.live)]
        process = self.live.pop(run_id).process
        self._close(process)
        assert process.wait(PATIENCE) == 0
        self._assert_over(run_id, "ended")

    @precondition(lambda self: self.live)
    @rule(which=WHICH)
    def crash(self, which: int) -> None:
        run_id = [*self.live][which % len(self.live)]
        self._kill(self.live.pop(run_id).process)
        self.dead.append(run_id)

    @rule(which=WHICH, stops=st.integers(1, 3), sweeps=st.integers(0, 1))
    def stop(self, which: int, stops: int, sweeps: int) -> None:
        """By several at once, which are one, while others sweep."""
        if not (runs := [*self.live, *self.dead]):
            return
        run_id = runs[which % len(runs)]
        stopping = [self._popen("stop", run_id, "--json") for _ in range(stops)]
        sweeping = [self._popen("sweep", "--json") for _ in range(sweeps)]
        for process in stopping:
            [row] = self._answer(process)["runs"]
            assert row["how"] != "failed", row
        for process in sweeping:
            self._count(self._answer(process)["entries"], may_take={run_id})
        if run_id in self.live:
            process = self.live.pop(run_id).process
            assert process.wait(PATIENCE) == 143
            self._close(process)
            self._assert_over(run_id, "ended")
        else:
            self.dead.remove(run_id)
            self._assert_over(run_id, "crashed")

    @rule(count=st.integers(1, 3))
    def sweep(self, count: int) -> None:
        due = {run_id for run_id in self.dead if self._is_old(run_id)}
        sweeping = [self._popen("sweep", "--json") for _ in range(count)]
        before = Counter(self.wiped)
        for process in sweeping:
            self._count(self._answer(process)["entries"], may_take=due)
        assert self.wiped - before == Counter(dict.fromkeys(due, 1))
        self.dead = [run_id for run_id in self.dead if run_id not in due]
        for run_id in due:
            self._assert_over(run_id, "crashed")
        again = self._answer(self._popen("sweep", "--json"))["entries"]
        assert {one["name"] for one in again if one["verdict"] != "spared"} == set()

    @rule(seconds=st.sampled_from([30.0, OLD, OLD, -OLD]))
    def time_passes(self, seconds: float) -> None:
        """Or the clock is set back, so that what is there is from the future."""
        for run_id in (*self.live, *self.dead):
            for path in self._dated(run_id):
                at = os.lstat(path).st_mtime - seconds
                os.utime(path, (at, at), follow_symlinks=False)

    @rule(which=WHICH, known=st.sampled_from([None, "another-boot:1"]))
    def pid_is_reused(self, which: int, known: str | None) -> None:
        """The number in the record is another process's by now."""
        runs = [*self.live, *self.dead]
        path = self._record_file(runs[which % len(runs)]) if runs else None
        if path is None or not path.exists():
            return
        times = os.stat(path)
        document = json.loads(path.read_bytes())
        document |= {"supervisor": self.bystander.pid, "supervisor_identity": known}
        path.write_text(json.dumps(document))
        os.utime(path, (times.st_atime, times.st_mtime))

    # --- what stays true ------------------------------------------------------------------

    @invariant()
    def living_runs_are_untouched(self) -> None:
        for run_id, live in self.live.items():
            assert live.process.poll() is None, run_id
            assert lock.is_held(lock_file(self.paths, run_id))
            assert changes(live.room, snapshot(instance_of(self.paths, run_id).home)) == []
            assert instance_of(self.paths, run_id).tmp.is_dir()
        assert self.bystander.poll() is None

    @invariant()
    def credentials_are_in_rooms_only(self) -> None:
        places = [self.master]
        for run_id in (*self.live, *self.dead):
            instance = instance_of(self.paths, run_id)
            places += [instance.root, instance.temp]
        for at, _, names in os.walk(self.base):
            for path in (Path(at) / name for name in names):
                if path.is_file() and any(word in path.read_bytes() for word in _SECRETS):
                    assert any(path.is_relative_to(place) for place in places), path

    @invariant()
    def the_master_store_is_as_it_was(self) -> None:
        assert changes(self.before, snapshot(self.master)) == []

    @invariant()
    def records_go_only_where_a_life_leads(self) -> None:
        for document in self._records():
            run_id, state = document["run_id"], document["state"]
            before = self.states.get(run_id, "allocated")
            assert state in _reachable(before), f"{run_id} went from {before} to {state}"
            self.states[run_id] = state
            if state in FINAL:
                content = self._record_file(run_id).read_bytes()
                assert self.finished.setdefault(run_id, content) == content

    @invariant()
    def each_run_is_wiped_once(self) -> None:
        assert set(self.wiped.values()) <= {1}, self.wiped

    def teardown(self) -> None:
        try:
            if self.paths.runs.exists():
                self._answer(self._popen("stop", "--all", "--json"))
                for run_id in self.dead:
                    self._answer(self._popen("stop", run_id, "--json"))
                for live in self.live.values():
                    live.process.wait(PATIENCE)
                assert_nothing_left(self.root)
        finally:
            self.bystander.kill()
            self.bystander.wait()
            for left in processes(self.root):
                left.kill()
            for live in self.live.values():
                self._close(live.process)
            remove_tree(self.base)

    # --- how ------------------------------------------------------------------------------

    def _popen(self, *words: str) -> Process:
        argv = [sys.executable, "-m", "homeroom.testing.run", ADAPTER, *words]
        with open(self.base / "said", "a") as said:
            return subprocess.Popen(
                argv,
                env=self.env,
                cwd=self.user / "work",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if "--json" in words else said,
                stderr=said,
                text=True,
            )

    def _start(self) -> tuple[str, Process]:
        self.number += 1
        name = f"n{self.number}"
        if self.paths.state.exists():
            # A start sweeps as well, once a minute: not here, where sweeps are counted.
            (self.paths.state / "last-sweep").touch(0o600)
        return name, self._popen("start", "fake", "--name", name)

    def _await_running(self, name: str, process: Process) -> str:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            assert process.poll() is None, (self.base / "said").read_text()[-2000:]
            for one in self._records():
                if one["name"] == name and one["state"] == "running":
                    found: str = one["run_id"]
                    return found
            time.sleep(0.05)
        raise AssertionError(f"{name} did not start")

    def _answer(self, process: Process) -> Any:
        said, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, said + (self.base / "said").read_text()[-2000:]
        return json.loads(said)

    def _count(self, entries: list[dict[str, str]], may_take: set[str]) -> None:
        for one in entries:
            if not RUN_ID.fullmatch(one["name"]):
                continue
            assert one["verdict"] in ("removed", "spared"), one
            if one["verdict"] == "removed":
                assert one["name"] in may_take, one
                self.wiped[one["name"]] += 1

    def _kill(self, process: Process) -> None:
        process.kill()
        process.wait()
        self._close(process)

    @staticmethod
    def _close(process: Process) -> None:
        for stream in (process.stdin, process.stdout):
            if stream:
                stream.close()

    def _assert_over(self, run_id: str, state: str) -> None:
        instance = instance_of(self.paths, run_id)
        for path in (instance.root, instance.temp, lock_file(self.paths, run_id)):
            assert not os.path.lexists(path), path
        if self._record_file(run_id).exists():
            assert json.loads(self._record_file(run_id).read_bytes())["state"] == state

    def _record_file(self, run_id: str) -> Path:
        return self.paths.runs / f"{run_id}.json"

    def _records(self) -> list[dict[str, Any]]:
        paths = sorted(self.paths.runs.glob("run_*.json"))
        return [json.loads(path.read_bytes()) for path in paths]

    def _dated(self, run_id: str) -> list[Path]:
        instance = instance_of(self.paths, run_id)
        dated = (lock_file(self.paths, run_id), self._record_file(run_id), instance.root)
        return [path for path in dated if os.path.lexists(path)]

    def _is_old(self, run_id: str) -> bool:
        now = time.time()
        times = [os.lstat(path).st_mtime for path in self._dated(run_id)]
        return all(at > now + 1 or now - at >= YOUNGEST for at in times)


_SECRETS = (ACCESS.encode(), RENEWAL.encode())


def _reachable(state: RunState) -> set[str]:
    return {state}.union(*(_reachable(after) for after in _NEXT[state]))


def link_toolchain(base: Path, root: Path) -> Path:
    """Copy the frame of an installed toolchain, with the agent of the kit beside its own."""
    from homeroom.testing.fake import TOOL, install
    from homeroom.testing.toolchain import with_tools
    from homeroom.toolchain.store import TOOLCHAIN_VARIABLE, require

    found = {TOOLCHAIN_VARIABLE: str(base)}
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(mode=0o755)
    return with_tools(root, require(locate(found), found), {TOOL: install(root)})
