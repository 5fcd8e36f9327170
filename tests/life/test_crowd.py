"""Many runs by eight at once, stopped, killed and swept: each is wiped exactly once."""

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from homeroom.files import create_private
from homeroom.home import RUN_ID
from homeroom.toolchain.store import Toolchain
from tests.conftest import PrivateHome
from tests.life.conftest import wait_until
from tests.life.machine import ADAPTER, OLD, link_toolchain
from tests.support.runs import assert_nothing_left, records

AT_ONCE = 8
RUNS = 100 if "HOMEROOM_SOAK" in os.environ else 24
GRANT = {"access_token": "kit-access-of-the-crowd", "expires_at": 4e9, "account": "me"}


@dataclass
class Crowd:
    """What eight do in one home.

    Attributes:
        env: The environment of each command.
        work: Where runs work.
        state: homeroom's directory.
        killed: The runs whose supervisors were killed.
        stopped: What each stop said of its run.
        swept: The runs that a sweep says it has removed, with repetitions.
    """

    env: dict[str, str]
    work: Path
    state: Path
    killed: list[str] = field(default_factory=list)
    stopped: dict[str, list[str]] = field(default_factory=dict)
    swept: list[str] = field(default_factory=list)

    def popen(self, *words: str) -> "subprocess.Popen[str]":
        # A file: an agent that outlives its supervisor would hold a pipe open.
        with open(self.said, "a") as said:
            return subprocess.Popen(
                [sys.executable, "-m", "homeroom.testing.run", ADAPTER, *words],
                env=self.env,
                cwd=self.work,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if "--json" in words else said,
                stderr=said,
                text=True,
            )

    @property
    def said(self) -> Path:
        return self.work.parent / "said"

    def answer(self, process: "subprocess.Popen[str]") -> Any:
        said, _ = process.communicate(timeout=100)
        assert process.returncode == 0, said + self.said.read_text()[-2000:]
        return json.loads(said)

    def live(self, number: int) -> None:
        """Start a run, and have it stopped by two at once, or killed and swept."""
        with self.popen("start", "fake", "--name", f"n{number}") as supervisor:
            run_id = str(wait_until(lambda: self.running(f"n{number}"), 100))
            if number % 2:
                both = [self.popen("stop", run_id, "--json") for _ in range(2)]
                said = [self.answer(stop)["runs"][0]["how"] for stop in both]
                self.stopped[run_id] = said
            else:
                supervisor.kill()
                supervisor.wait()
                self.killed.append(run_id)
                self.age(run_id)
            assert supervisor.stdin
            supervisor.stdin.close()
        self.sweep()

    def running(self, name: str) -> str | None:
        for path in (self.state / "runs").glob("*.json"):
            found = json.loads(path.read_bytes())
            if (found["name"], found["state"]) == (name, "running"):
                return str(found["run_id"])
        return None

    def age(self, run_id: str) -> None:
        past = time.time() - OLD
        for path in self.state.glob(f"*/{run_id}*"):
            try:
                os.utime(path, (past, past))
            except FileNotFoundError:
                # Another one's sweep was faster.
                continue

    def sweep(self) -> None:
        for one in self.answer(self.popen("sweep", "--json"))["entries"]:
            assert one["verdict"] in ("removed", "spared"), one
            if one["verdict"] == "removed" and RUN_ID.fullmatch(one["name"]):
                self.swept.append(one["name"])


@pytest.mark.timeout(0 if "HOMEROOM_SOAK" in os.environ else 300)
def test_runs_of_eight_at_once_are_each_wiped_once(
    private_home: PrivateHome, toolchain: Toolchain, tmp_path: Path
) -> None:
    root = link_toolchain(toolchain.root, tmp_path / "toolchain")
    work = private_home.home / "work"
    work.mkdir()
    master = private_home.home / ".fake-agent" / "login.json"
    master.parent.mkdir()
    create_private(master, json.dumps({"grant": GRANT}).encode())
    env = private_home.env | {"HOMEROOM_TOOLCHAIN": str(root)}
    crowd = Crowd(env, work, private_home.root / "state")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(crowd.live, range(RUNS)))
    crowd.sweep()
    # A start sweeps as well, once a minute.
    crowd.swept += re.findall(r"sweep: removed (run_\w+)", crowd.said.read_text())
    assert Counter(crowd.swept) == Counter(crowd.killed)
    assert len(crowd.killed) + len(crowd.stopped) == RUNS
    assert all(set(said) <= {"ended", "was over"} for said in crowd.stopped.values())
    assert_nothing_left(private_home.root)
    states = {one["run_id"]: one["state"] for one in records(private_home.root)}
    expected = dict.fromkeys(crowd.killed, "crashed") | dict.fromkeys(crowd.stopped, "ended")
    assert states == expected
    assert json.loads(master.read_bytes()) == {"grant": GRANT}
