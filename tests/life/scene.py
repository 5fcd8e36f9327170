"""What dead runs left, and a living one among it, with no agent and no sandbox."""

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from homeroom import home, process
from homeroom.cli.main import main
from homeroom.home import instance_of
from homeroom.paths import Paths
from homeroom.run import lock, record
from homeroom.run.find import lock_file
from homeroom.run.lock import RunLock
from homeroom.run.record import Record

SECRET = "s3cret-in-a-room"
# A sweep leaves alone what is younger than five minutes.
OLD = 600


@dataclass
class Scene:
    """What dead runs left, and a living one among it."""

    paths: Paths
    env: dict[str, str]

    def begin(self, state: record.RunState = "running", supervisor: int = 1, **more: Any) -> str:
        run_id = home.new_run_id()
        for directory in (self.paths.state, self.paths.runs):
            directory.mkdir(parents=True, mode=0o700, exist_ok=True)
        lock_file(self.paths, run_id).touch(0o600)
        record.save(
            self.paths.runs / f"{run_id}.json",
            Record(
                run_id=run_id,
                provider="claude",
                workspace="/some/where",
                state=state,
                created=time.time(),
                supervisor=supervisor,
                supervisor_identity=process.identity(supervisor),
                **more,
            ),
        )
        instance = instance_of(self.paths, run_id)
        home.materialize(instance)
        talks = instance.home / ".claude" / "projects" / "x"
        talks.mkdir(parents=True)
        (talks / "talk.jsonl").write_text("{}\n")
        for place in (instance.home, instance.tmp):
            (place / "credential").write_text(SECRET)
        return run_id

    def alive(self, **more: Any) -> tuple[str, RunLock]:
        run_id = self.begin(**more)
        held = lock.try_acquire(lock_file(self.paths, run_id))
        assert held
        return run_id, held

    def leftovers(self) -> list[str]:
        for trash in (self.paths.trash, self.paths.temp / "trash"):
            trash.mkdir(mode=0o700, exist_ok=True)
            (trash / f"old-{trash.parent.name}").mkdir()
        order = self.paths.runs / f"{home.new_run_id()}.order"
        order.write_text(SECRET)
        return [order.name, "old-state", "old-tmp"]

    def age(self) -> None:
        past = time.time() - OLD
        for path in self.paths.state.glob("*/*"):
            os.utime(path, (past, past), follow_symlinks=False)

    def main(self, *arguments: str) -> int:
        with patch.dict(os.environ, self.env, clear=True):
            return main([*arguments, "--json"])

    def is_gone(self, run_id: str) -> bool:
        instance = instance_of(self.paths, run_id)
        places = (instance.root, instance.temp, lock_file(self.paths, run_id))
        return not any(map(os.path.lexists, places)) and not any(
            name.startswith((run_id, instance.temp.name))
            for trash in (self.paths.trash, self.paths.temp / "trash")
            for name in (os.listdir(trash) if trash.exists() else ())
        )

    def state_of(self, run_id: str) -> str:
        return record.read(self.paths.runs / f"{run_id}.json").state


def holding(root: Path) -> list[Path]:
    return [
        Path(at) / name
        for at, _, names in os.walk(root)
        for name in names
        if SECRET.encode() in (Path(at) / name).read_bytes()
    ]


def damage(path: Path, how: str) -> None:
    """Do something to a record that it cannot be read after."""
    if how == "deleted":
        path.unlink()
    elif how == "truncated":
        os.truncate(path, path.stat().st_size // 2)
    elif how == "empty":
        os.truncate(path, 0)
    else:
        document: dict[str, Any] = json.loads(path.read_bytes())
        path.write_text(json.dumps(document | {"schema": 2, "new": True}))
