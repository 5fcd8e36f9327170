"""Ctrl-Z while a run is still being prepared: the shell keeps its terminal until `fg`."""

import re
from pathlib import Path

import pytest

from tests.e2e.runner import wait_until
from tests.e2e.session import ANSWER, PROMPT, Session
from tests.e2e.slow import SlowSandbox
from tests.support.runs import Journal
from tests.support.terminal import Terminal


@pytest.fixture
def session(terminal: Terminal, slow: SlowSandbox, workspace: Path) -> Session:
    """A shell, and a start in it whose sandbox comes up when the test says so."""
    return Session(terminal, slow.home, workspace)


def assert_shell_has_the_terminal(session: Session) -> None:
    session.enter("clear; echo typed and echoed")
    session.terminal.wait_for(re.compile(r"^typed and echoed$", re.MULTILINE))


@pytest.mark.parametrize("behind", [False, True], ids=["fg", "bg, fg"])
def test_ctrl_z_while_the_sandbox_comes_up_keeps_the_agent_out_until_fg(
    session: Session, slow: SlowSandbox, journal: Journal, behind: bool
) -> None:
    session.start_shell()
    session.type_start(journal.url)
    slow.wait_begun()
    session.suspend()
    slow.come_up()
    assert not slow.has_agent()
    assert_shell_has_the_terminal(session)
    if behind:
        session.send_behind()
        assert not slow.has_agent()
        assert_shell_has_the_terminal(session)
    session.enter("clear; fg")
    session.finish()


def test_ctrl_z_twice_before_the_agent_starts(
    session: Session, slow: SlowSandbox, journal: Journal
) -> None:
    session.start_shell()
    session.type_start(journal.url)
    slow.wait_begun()
    for _ in range(2):
        session.suspend()
        session.enter("clear; fg")
        wait_until(lambda: not slow.is_stopped())
    slow.come_up()
    session.finish()


def test_ending_the_shell_of_a_suspended_start_leaves_nothing(
    session: Session, slow: SlowSandbox, journal: Journal
) -> None:
    session.start_shell()
    session.type_start(journal.url)
    slow.wait_begun()
    session.suspend()
    slow.come_up()
    session.terminal.close()
    session.assert_nothing_left()


def test_the_agent_stays_out_after_bg_of_a_suspended_run(
    session: Session, slow: SlowSandbox, journal: Journal
) -> None:
    slow.go_on()
    session.start_shell()
    session.type_start(journal.url)
    session.ask()
    session.suspend()
    session.send_behind()
    assert_shell_has_the_terminal(session)
    session.enter("clear; fg")
    session.finish()


@pytest.mark.parametrize("how", ["{} &", "timeout 60 {}"], ids=["background job", "timeout"])
def test_a_one_shot_run_that_never_has_the_terminal_answers_all_the_same(
    session: Session, slow: SlowSandbox, journal: Journal, how: str
) -> None:
    slow.go_on()
    session.start_shell()
    session.type_how(how, journal.url, "-p", "hi")
    session.terminal.wait_for(ANSWER)
    session.enter('wait; clear; echo "status:" $?')
    assert session.status() == 0
    session.end_shell()


def test_an_agent_that_is_started_in_the_background_leaves_the_terminal_alone(
    session: Session, slow: SlowSandbox, journal: Journal
) -> None:
    slow.go_on()
    session.start_shell()
    session.type_how("{} &", journal.url)
    session.enter('wait; clear; echo "is" over')
    screen = session.terminal.wait_for("is over")
    assert not PROMPT.search(screen)
    assert_shell_has_the_terminal(session)
    session.end_shell()
