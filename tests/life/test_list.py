"""``homeroom list``: what a person reads there, with no agent and no sandbox."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from homeroom.errors import UsageError
from homeroom.run import find
from tests.life.scene import Scene
from tests.support.cli import run_homeroom


def listed(scene: Scene) -> list[str]:
    done = run_homeroom("list", "--all", env=scene.env, cwd=scene.paths.state)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_each_column_begins_where_its_title_does(scene: Scene) -> None:
    """However long a state, a name or how a run is held."""
    scene.begin("ended", name="s", exit_status=143)
    scene.begin("failed", name="a name that is longer than most", exit_status=76)
    scene.begin(name="\u540d\u524d", session="tmux", container=True)
    head, *rows = listed(scene)
    assert len(rows) == 3
    for row in rows:
        # What is shown in two columns is one letter.
        wide = row.count("\u540d") + row.count("\u524d")
        for title, known in (("STATE", ("ended", "failed", "crashed")), ("AGENT", ("claude",))):
            assert row[head.index(title) - wide :].startswith(known), row
        held = row[head.index("HELD") - wide :]
        assert held.startswith(("foreground", "tmux+container")), row
        assert row[head.index("WORKSPACE") - wide :] == "/some/where"


def test_a_run_that_ctrl_z_has_stopped_is_called_suspended(scene: Scene) -> None:
    with subprocess.Popen(["sleep", "600"]) as supervisor:
        run_id, held = scene.alive(supervisor=supervisor.pid)
        try:
            assert listed(scene)[1].split()[:2] == [run_id[:12], "running"]
            supervisor.send_signal(signal.SIGSTOP)
            deadline = time.monotonic() + 10
            while listed(scene)[1].split()[:2] != [run_id[:12], "suspended"]:
                assert time.monotonic() < deadline
            done = run_homeroom("list", "--json", env=scene.env, cwd=scene.paths.state)
            [row] = json.loads(done.stdout)["runs"]
            assert (row["state"], row["suspended"]) == ("running", True)
        finally:
            held.release()
            supervisor.kill()


def test_a_worktree_that_a_run_has_left_is_shown_until_it_is_removed(
    scene: Scene, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    scene.begin("ended", ended=1.0, exit_status=0, worktree=str(tree))
    assert listed(scene)[1].endswith("/some/where (kept)")
    tree.rmdir()
    assert listed(scene)[1].endswith("/some/where")


def test_of_runs_with_one_name_the_ids_are_shown(scene: Scene) -> None:
    ids = [scene.begin("ended", name="fixer") for _ in range(2)]
    scene.begin("ended", name="other")
    shown = "\n".join(listed(scene))
    for run_id in ids:
        assert f"fixer ({run_id[:12]}) " in shown
    assert "\nother  " in shown


def test_a_name_that_no_list_could_show_is_refused(scene: Scene) -> None:
    with pytest.raises(UsageError, match="longer than 64 letters"):
        find.refuse_taken(scene.paths, "x" * 65)
    find.refuse_taken(scene.paths, "x" * 64)


def test_a_command_in_a_hint_can_be_pasted_whatever_the_name(scene: Scene) -> None:
    run_id, held = scene.alive(name="two words")
    try:
        with pytest.raises(UsageError) as told:
            find.refuse_taken(scene.paths, "two words")
        assert told.value.hint is not None
        assert "`homeroom stop 'two words'`" in told.value.hint
        assert find.one(scene.paths, "two words").record.run_id == run_id
    finally:
        held.release()


def test_what_check_tried_is_not_among_the_runs_that_were(scene: Scene) -> None:
    """While it is alive, or crashed and not swept, it is told of as any other."""
    kept, tried = scene.begin("ended"), scene.begin("ended", trial=True)
    crashed = scene.begin(trial=True)
    shown = "\n".join(listed(scene))
    assert kept[:12] in shown
    assert crashed[:12] in shown
    assert tried[:12] not in shown


@pytest.mark.parametrize("trial", [True, False])
def test_of_a_dead_trial_no_transcript_is_kept_and_of_a_run_it_is(
    scene: Scene, *, trial: bool
) -> None:
    run_id = scene.begin(trial=trial)
    scene.age()
    assert scene.main("sweep") == 0
    assert scene.is_gone(run_id)
    assert (scene.paths.transcripts / run_id).is_dir() is not trial
    assert any("crashed" in row for row in listed(scene)[1:]) is not trial
