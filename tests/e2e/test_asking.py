"""archive = "ask": one question at the end, at a real terminal, and none anywhere else."""

import os
from pathlib import Path

import pytest

from tests.conftest import PrivateHome
from tests.e2e.runner import Runner
from tests.e2e.session import ANSWER, PROMPT, SHELL_PROMPT, Session
from tests.support.cli import homeroom_argv
from tests.support.runs import Journal, assert_nothing_left, leftovers, records

QUESTION = "Keep this run's transcript? [Y/n]"


@pytest.fixture(autouse=True)
def _asking(ready_home: PrivateHome) -> None:
    write_config(ready_home, "ask")


def write_config(home: PrivateHome, archive: str) -> None:
    config = home.root / "config" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f'[run]\narchive = "{archive}"\n')


def kept(home: PrivateHome) -> list[Path]:
    return list((home.root / "state" / "transcripts").rglob("*.jsonl"))


ANSWERS = {
    "Enter": True,
    "y Enter": True,
    "N o Enter": False,
    "n Enter": False,
    "n o t Enter": True,
    "C-c": True,
    "C-d": True,
    "n C-c": True,
}


@pytest.mark.parametrize("keys", ANSWERS)
def test_an_answer_decides_and_no_answer_keeps(
    session: Session, journal: Journal, keys: str
) -> None:
    session.start_shell()
    session.type_start(journal.url, "-p", "hi")
    session.terminal.wait_for(QUESTION)
    assert ANSWER in session.terminal.screen()
    # The room with its credential is gone while the question stands, and the run is over.
    assert leftovers(session.home.root) == []
    assert records(session.home.root)[-1]["state"] == "ended"
    session.terminal.send(*keys.split())
    assert session.status() == 0
    assert bool(kept(session.home)) == ANSWERS[keys]
    if not ANSWERS[keys]:
        assert list((session.home.root / "state" / "transcripts").iterdir()) == []
    assert session.terminal.screen().count(QUESTION) == 1
    session.end_shell()


def test_a_conversation_is_asked_about_when_it_is_left(session: Session, journal: Journal) -> None:
    session.start(journal.url)
    session.ask()
    session.leave()
    session.terminal.wait_for(QUESTION)
    session.enter("n")
    assert session.terminal.wait_exit() == 0
    assert kept(session.home) == []
    assert_nothing_left(session.home.root)


def test_a_question_can_be_put_off_by_ctrl_z(session: Session, journal: Journal) -> None:
    session.start_shell()
    session.type_start(journal.url, "-p", "hi")
    session.terminal.wait_for(QUESTION)
    session.suspend()
    session.enter("clear; fg")
    session.terminal.wait_for(QUESTION)
    session.enter("n")
    session.terminal.wait_for(SHELL_PROMPT)
    assert kept(session.home) == []


def test_a_terminal_that_goes_away_at_the_question_keeps(
    session: Session, journal: Journal
) -> None:
    session.start(journal.url, "-p", "hi")
    session.terminal.wait_for(QUESTION)
    session.terminal.close()
    assert kept(session.home)
    assert_nothing_left(session.home.root)


@pytest.mark.parametrize("how", ["--afk hi", "-- -p hi | cat", "-- -p hi </dev/null"])
def test_where_nobody_could_answer_it_is_kept_without_a_question(
    session: Session, journal: Journal, how: str
) -> None:
    session.start_shell()
    start = " ".join(homeroom_argv("start", "--demo-server", journal.url))
    session.enter(f'clear; {start} {how}; echo "status:" $?')
    assert session.status() == 0
    assert QUESTION not in session.terminal.screen()
    assert kept(session.home)
    session.end_shell()


def test_a_run_without_a_terminal_or_a_transcript_is_not_asked_about(
    runner: Runner, journal: Journal, session: Session
) -> None:
    done = runner.start(journal, "-p", "hi")
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n")
    assert QUESTION not in done.stderr
    [found] = kept(runner.home)
    os.unlink(found)
    session.start(journal.url, "--version")
    assert session.terminal.wait_exit() == 0
    assert QUESTION not in session.terminal.screen()


def test_what_to_type_to_go_on_with_a_demo_is_a_demo(
    session: Session, journal: Journal, ready_home: PrivateHome
) -> None:
    write_config(ready_home, "always")
    session.start_shell()
    session.type_start(journal.url, "-p", "hi")
    session.terminal.wait_for("to go on with this: homeroom start claude --demo --resume run_")
    assert session.status() == 0


def test_nothing_is_said_of_going_on_with_what_was_not_begun(
    session: Session, journal: Journal, ready_home: PrivateHome
) -> None:
    write_config(ready_home, "always")
    session.start_shell()
    session.type_start(journal.url)
    session.terminal.wait_for(PROMPT)
    session.enter("/exit")
    assert session.status() == 0
    assert "to go on with this" not in session.terminal.screen()
