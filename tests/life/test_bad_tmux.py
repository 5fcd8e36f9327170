"""A tmux that is missing, too old, broken, or killed under its runs."""

import os
import shutil
from pathlib import Path

import pytest

from tests.life.conftest import Life

STUBS = {
    "too old": (
        '[ "$1" = -S ] && shift 4; [ "$1" = -V ] && echo tmux 1.8; exit 1',
        "tmux 1.8 is too",
    ),
    "never there": (
        "echo server exited unexpectedly >&2; exit 1",
        "tmux new-session failed: server exited unexpectedly",
    ),
    "refusing": ("echo no server >&2; exit 1", "tmux new-session failed: no server"),
}


def test_without_tmux_it_says_so(life: Life, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for directory in reversed(life.home.env["PATH"].split(os.pathsep)):
        for program in Path(directory).glob("*") if os.path.isdir(directory) else ():
            if program.name != "tmux":
                (programs / program.name).unlink(missing_ok=True)
                (programs / program.name).symlink_to(program)
    done = life.start("--detach", env=life.home.env | {"PATH": str(programs)})
    assert done.returncode == 69
    assert "tmux is not installed" in done.stderr
    assert "apt install tmux" in done.stderr
    assert list((life.state / "runs").iterdir()) == []


def with_tmux(life: Life, directory: Path, script: str) -> dict[str, str]:
    """Give an environment with a tmux of its own."""
    directory.mkdir()
    stub = directory / "tmux"
    stub.write_text(f"#!/bin/sh\n{script}\n")
    stub.chmod(0o755)
    return life.home.env | {"PATH": f"{directory}{os.pathsep}{life.home.env['PATH']}"}


@pytest.mark.parametrize("kind", STUBS)
def test_a_tmux_that_will_not_do_is_told_and_nothing_is_left(
    life: Life, tmp_path: Path, kind: str
) -> None:
    script, said = STUBS[kind]
    done = life.start("--detach", env=with_tmux(life, tmp_path / "bin", script))
    assert (done.returncode, done.stdout) == (69, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert list((life.state / "runs").iterdir()) == []
    assert list(life.state.rglob("*.log")) == []


@pytest.mark.parametrize("said", ["tmux 2.6", "tmux next-3.6", "tmux master"])
def test_versions_that_will_do_are_taken(life: Life, tmp_path: Path, said: str) -> None:
    real = shutil.which("tmux", path=life.home.env["PATH"])
    script = f'case "$*" in *-V*) echo {said};; *) exec {real} "$@";; esac'
    done = life.start("--detach", "--afk", "hi", env=with_tmux(life, tmp_path / "bin", script))
    assert done.returncode == 0, done.stderr
    assert life.wait_over(done.stdout.strip())["exit_status"] == 0


@pytest.mark.parametrize("said", ["server exited unexpectedly", "lost server"])
def test_a_server_that_ends_with_its_last_run_at_this_moment_is_started_anew(
    life: Life, tmp_path: Path, said: str
) -> None:
    """It has taken the call by then, and never answers."""
    real = shutil.which("tmux", path=life.home.env["PATH"])
    ended = f'[ -e {tmp_path}/ended ] || {{ : >{tmp_path}/ended; echo "{said}" >&2; exit 1; }}'
    script = f'case "$*" in *new-session*) {ended};; esac; exec {real} "$@"'
    done = life.start("--detach", "--afk", "hi", env=with_tmux(life, tmp_path / "bin", script))
    assert done.returncode == 0, done.stderr
    assert life.wait_over(done.stdout.strip())["exit_status"] == 0


def test_when_its_server_is_killed_the_runs_are_over_and_the_next_one_starts(slow: Life) -> None:
    first, second = slow.detach("--afk", "hi"), slow.detach("--afk", "hi")
    slow.tmux("kill-server")
    for run_id in (first, second):
        # A hang-up: ended as after any other, and wiped.
        assert slow.wait_over(run_id)["state"] == "ended"
    for command in ("attach", "send", "interrupt"):
        done = slow.run(command, first, *(["hi"] if command == "send" else []))
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
    assert slow.json("list")["runs"] == []
    third = slow.detach("--afk", "hi")
    assert slow.json("stop", third)["runs"][0]["how"] == "ended"
