"""A shell that allows few open files (`ulimit -n`): homeroom says so, with no traceback."""

import subprocess
from subprocess import CompletedProcess

import pytest

from tests.life.conftest import Life, wait_until
from tests.support.cli import homeroom_argv

COMMANDS = (
    ("list",),
    ("list", "--json"),
    ("sweep", "--dry-run"),
    ("dry-run",),
    ("login", "--status"),
    ("transcript", "living"),
    ("logs", "living"),
    ("look", "living"),
    ("setup",),
    ("start", "--detach", "--afk", "hi"),
    ("start", "--", "-p", "hi"),
)


def limited(life: Life, limit: int, *arguments: str) -> CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *homeroom_argv(*arguments)],
        env=life.home.env,
        cwd=life.workspace,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def living(slow: Life) -> Life:
    slow.detach("--name", "living", "--afk", "hi")
    wait_until(lambda: [row["state"] for row in slow.json("list")["runs"]] == ["running"])
    return slow


@pytest.mark.parametrize("limit", [5, 6, 7, 8, 10, 14])
def test_no_command_ends_in_a_traceback(living: Life, limit: int) -> None:
    failed = 0
    for command in COMMANDS:
        done = limited(living, limit, *command)
        assert "Traceback" not in done.stderr, (command, done.stderr)
        assert done.returncode != 70, (command, done.stderr)
        if "Too many open files" in done.stderr:
            failed += 1
            assert "homeroom: error: " in done.stderr, (command, done.stderr)
            assert "homeroom: hint: allow this shell more open files, as in `ulimit -n" in (
                done.stderr
            ), (command, done.stderr)
            assert done.returncode == 74, (command, done.stderr)
    assert failed > 0
    # What they were about goes on.
    assert [row["state"] for row in living.json("list")["runs"]] == ["running"]


@pytest.mark.parametrize("limit", [10, 24, 40])
def test_a_start_says_that_a_run_needs_more_before_it_makes_anything(
    life: Life, limit: int
) -> None:
    done = limited(life, limit, "start", "--demo-server", life.url, "--", "-p", "hi")
    assert done.returncode == 74
    said = f"only {limit} files may be open at once, and a run needs more: Too many open files"
    assert said in done.stderr
    assert "ulimit -n 1024" in done.stderr
    assert not life.state.exists()
