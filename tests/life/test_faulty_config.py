"""A config.toml that cannot be used takes nobody's brake away: runs are ended all the same."""

import json
import os
from pathlib import Path

import pytest

from homeroom.home import instance_of
from tests.life.conftest import Life
from tests.life.scene import Scene

FAULTS = {
    "unknown key": "[run]\narchiv = 'never'\n",
    "no TOML": "[run\n",
    "unsafe": "[run]\narchive = 'never'\n",
}


def write(paths_config: Path, fault: str) -> None:
    paths_config.mkdir(mode=0o700, parents=True, exist_ok=True)
    (paths_config / "config.toml").write_text(FAULTS[fault])
    (paths_config / "config.toml").chmod(0o666 if fault == "unsafe" else 0o600)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_living_run_is_stopped_and_the_file_and_its_fault_are_named(
    slow: Life, fault: str
) -> None:
    slow.detach("--name", "quick")
    write(slow.home.root / "config", fault)
    done = slow.run("stop", *(["--all"] if fault == "no TOML" else ["quick"]), "--json")
    assert done.returncode == 0, done.stderr
    assert [one["how"] for one in json.loads(done.stdout)["runs"]] == ["ended"]
    assert f"homeroom: warning: {slow.home.root}/config/config.toml" in done.stderr
    assert "goes on without it" in done.stderr


@pytest.mark.parametrize("command", ["sweep", "stop"])
def test_a_dead_runs_room_stays_while_nobody_knows_whether_its_transcript_may(
    scene: Scene, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """Neither what must not be kept is, nor what should be lost; a run that said nothing goes."""
    talked, silent = scene.begin(), scene.begin()
    talks = instance_of(scene.paths, silent).home / ".claude" / "projects" / "x" / "talk.jsonl"
    talks.unlink()
    write(scene.paths.config, "unknown key")
    scene.age()
    words = ["sweep"] if command == "sweep" else ["stop", talked, silent]
    assert scene.main(*words) == 1
    said = capsys.readouterr()
    assert "config.toml: unknown key 'run.archiv'" in said.err
    assert "whether its transcript is kept" in said.out
    assert scene.is_gone(silent)
    assert instance_of(scene.paths, talked).root.is_dir()
    assert not os.path.lexists(scene.paths.transcripts / talked)
    (scene.paths.config / "config.toml").write_text("[run]\narchive = 'never'\n")
    scene.age()
    assert scene.main(*words) == 0
    assert scene.is_gone(talked)
    assert not os.path.lexists(scene.paths.transcripts / talked)


def test_a_room_that_may_hold_a_renewed_login_stays_as_well(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which vault it belongs into stands in the file."""
    run_id = scene.begin(grant="0" * 8, grant_from="vault/default")
    (instance_of(scene.paths, run_id).home / ".claude/projects/x/talk.jsonl").unlink()
    write(scene.paths.config, "no TOML")
    assert scene.main("stop", run_id) == 1
    assert "or its login taken back" in capsys.readouterr().out
    assert instance_of(scene.paths, run_id).root.is_dir()
