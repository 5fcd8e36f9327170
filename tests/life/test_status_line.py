"""What a person sees below a detached run's terminal: whose it is, and how to leave it."""

import pytest

from tests.life.conftest import Life
from tests.support.cli import homeroom_argv
from tests.support.terminal import Terminal


def last_line(life: Life, run: str) -> str:
    with Terminal() as terminal:
        argv = homeroom_argv("attach", run)
        terminal.start(argv, env=life.home.env, cwd=life.workspace, size=(120, 40))
        shown = terminal.wait_for("Ctrl-B, then D")
        terminal.send("C-b")
        terminal.send("d")
        assert terminal.wait_exit() == 0
    return next(line for line in shown.splitlines() if "Ctrl-B, then D" in line)


@pytest.mark.parametrize("name", ["two words", "50% of #{pid} #(echo oops) ;"])
def test_it_says_the_runs_name_as_it_is(life: Life, name: str) -> None:
    done = life.start("--detach", "--name", name)
    assert done.returncode == 0, done.stderr
    line = last_line(life, name)
    assert f"{name} (claude)" in line
    assert "python" not in line
    assert done.stdout.strip() not in line


def test_it_says_the_beginning_of_the_id_where_there_is_no_name(life: Life) -> None:
    run_id = life.detach()
    line = last_line(life, run_id)
    assert f" {run_id[:12]} (claude) " in line
    assert run_id not in line


def test_how_to_come_back_to_it_can_be_pasted(life: Life) -> None:
    done = life.start("--detach", "--name", "two words")
    assert "`homeroom attach 'two words'`" in done.stderr
    assert "`homeroom stop 'two words'`" in done.stderr


def test_a_detached_run_that_waits_logged_out_says_so(life: Life) -> None:
    done = life.run("start", "--detach", "--name", "two words")
    assert done.returncode == 0, done.stderr
    assert "claude is not logged in there" in done.stderr
    assert "`homeroom stop 'two words'`" in done.stderr
    assert "`homeroom login claude`" in done.stderr
    demo = life.start("--detach")
    assert "not logged in" not in demo.stderr
