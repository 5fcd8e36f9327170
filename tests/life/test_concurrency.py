"""Many processes that start, crash, end and sweep runs at once."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from homeroom.run.taking import ONLY_LOCK
from tests.conftest import PrivateHome
from tests.support.runs import leftovers

# Each makes five rooms; every second one dies in its room, as a killed supervisor does.
WORKER = """
import json, os, sys, time
from homeroom import home, paths
from homeroom.files import ensure_private_dir
from homeroom.run import lock, record, sweep

places = paths.locate(os.environ)
for directory in (places.state, places.runs):
    ensure_private_dir(directory)
swept, made = [], []

def look():
    for entry in sweep.sweep(places, youngest=0.0).entries:
        if entry.verdict in ("removed", "failed") and home.RUN_ID.fullmatch(entry.name):
            swept.append([entry.name, entry.verdict, entry.reason])

def life(dies):
    while True:
        run_id = home.new_run_id()
        held = lock.try_acquire(places.runs / f"{run_id}.lock")
        if held is not None:
            break
    of = record.Record(run_id=run_id, provider="claude", workspace="/", state="allocated",
                       created=time.time(), supervisor=os.getpid())
    path = places.runs / f"{run_id}.json"
    record.save(path, of)
    instance = home.instance_of(places, run_id)
    home.materialize(instance)
    (instance.home / "file").write_text("text")
    made.append([run_id, dies])
    if dies:
        os.close(held.descriptor)
        return
    home.wipe(instance, places.trash)
    record.save(path, of.moved("failed", ended=time.time()))
    held.release()

for number in range(5):
    life(number % 2 == 0)
    look()
print(json.dumps({"swept": swept, "made": made}))
"""


def test_forty_runs_of_eight_processes_are_each_wiped_once(
    private_home: PrivateHome, tmp_path: Path
) -> None:
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER],
            env=private_home.env,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(8)
    ]
    said = []
    for worker in workers:
        output, _ = worker.communicate(timeout=90)
        assert worker.returncode == 0
        said.append(json.loads(output))
    swept = [tuple(entry) for one in said for entry in one["swept"]]
    assert [entry for entry in swept if entry[1] == "failed"] == []
    crashed = {run_id for one in said for run_id, dies in one["made"] if dies}
    assert len(crashed) == 24
    # A lock that a sweep saw before its maker had it was no run yet.
    taken = [name for name, _, reason in swept if reason != ONLY_LOCK]
    assert Counter(taken) == dict.fromkeys(crashed, 1)
    assert leftovers(private_home.root) == []
