"""What start and stop say of a run, by the words that its user has for it."""

from pathlib import Path

from tests.life.conftest import Life


def test_a_worktree_outside_of_a_repository_is_refused_before_anything_is_announced(
    life: Life,
) -> None:
    plain = life.home.home / "plain"
    plain.mkdir()
    for words in ((), ("--detach",)):
        done = life.start("--worktree", *words, "--", "-p", "hi", cwd=plain)
        assert done.returncode == 66
        first, *rest = done.stderr.splitlines()
        assert first.startswith("homeroom: error: --worktree: git rev-parse in ")
        assert rest == [
            "homeroom: hint: go to a git repository that has a commit, or leave out --worktree"
        ]
    assert not (life.state / "runs").exists() or not list((life.state / "runs").iterdir())


def test_a_variable_that_a_room_decides_itself_is_told_of_and_others_are_not(
    life: Life, tmp_path: Path
) -> None:
    life.config('[environment]\ninherit = ["HOME", "NOT_SET"]\n')
    env = life.home.env | {"MINE": "x", "TMPDIR": str(tmp_path)}
    done = life.start("--env", "TMPDIR", "--env", "MINE", "--", "-p", "hi", env=env)
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if "is not passed in" in line]
    assert said == [
        f"homeroom: {name} is not passed in: a room has its own" for name in ("HOME", "TMPDIR")
    ]


def test_stop_calls_runs_by_their_names(slow: Life) -> None:
    run_id = slow.detach()
    slow.detach("--name", "mine")
    said = slow.do("stop", "--all").splitlines()
    assert sorted(said) == sorted([f"{run_id[:12]} ended", "mine ended"])
