"""What runs while the shell has the terminal cannot read there: a password that is typed, say."""

from collections.abc import Callable, Iterator

import psutil
import pytest

from homeroom.toolchain.store import Toolchain
from tests.e2e.runner import wait_until
from tests.e2e.session import ANSWER, Session
from tests.support.model_server import ModelServer, model_server, says
from tests.support.runs import Journal, leftovers


@pytest.mark.parametrize(
    ("how", "is_held"),
    [
        ("{}", True),
        ("{} &", False),
        ("({} &)", False),
        # Of a session of its own, to which the kernel does not say who has the terminal.
        ("setsid -w {}", False),
        # Of a job of its own, which no shell brings to the front.
        ('sh -c "timeout 60 {}; true"', False),
        ("echo words | {}", False),
        ("{} </dev/null", False),
    ],
)
def test_only_a_run_that_reads_the_terminal_holds_it(
    session: Session, slow_server: ModelServer, how: str, is_held: bool
) -> None:
    seen = Journal(slow_server)
    session.start_shell()
    session.type_how(how, slow_server.url, "-p", "hi")
    wait_until(seen.requests)
    inside = session.sandboxed()
    assert len(inside) > 2
    assert any(session.is_terminal_held_by(one) for one in inside) == is_held
    session.stop_all()
    session.enter("wait; clear")
    session.end_shell()


@pytest.fixture
def suspended(session: Session, toolchain: Toolchain) -> Iterator[Callable[[str, str], Session]]:
    """Start a one-shot run whose answer takes some seconds, and press Ctrl-Z meanwhile."""
    with model_server(toolchain, [says("slow " * 60)], "--latency", "100") as server:
        seen = Journal(server)

        def begin(how: str, question: str) -> Session:
            session.start_shell()
            session.type_how(how, server.url, "-p", *question.split())
            wait_until(seen.requests)
            session.suspend()
            agent = session.agent(toolchain.tools["claude"].path)
            wait_until(lambda: agent.status() == psutil.STATUS_STOPPED)
            return session

        yield begin


def _assert_answers_after(session: Session, word: str) -> None:
    session.enter(f'clear; {word}; echo "status:" $?')
    session.terminal.wait_for("slow slow")
    assert session.status() == 0
    session.end_shell()


def test_a_run_that_has_the_terminal_stays_stopped_after_bg_until_fg(
    suspended: Callable[[str, str], Session], toolchain: Toolchain
) -> None:
    session = suspended("{}", "hi")
    agent = session.agent(toolchain.tools["claude"].path)
    turns = agent.num_ctx_switches()
    session.send_behind()
    assert agent.status() == psutil.STATUS_STOPPED
    # Nor was it awake meanwhile.
    assert agent.num_ctx_switches() == turns
    _assert_answers_after(session, "fg")


def test_a_run_that_reads_a_pipe_goes_on_after_bg(
    suspended: Callable[[str, str], Session],
) -> None:
    _assert_answers_after(suspended("echo words | {}", ""), "bg; wait")


@pytest.mark.parametrize("how", ["{} 2>&1 | cat", "{} 2>/dev/null", "{} >/dev/tty"])
def test_what_a_run_behind_the_shell_says_is_shown(
    session: Session, journal: Journal, how: str
) -> None:
    session.start_shell()
    session.type_how(f"({how} &)", journal.url, "-p", "hi")
    session.terminal.wait_for(ANSWER)
    wait_until(lambda: not leftovers(session.home.root))
    session.end_shell()


def test_a_run_whose_caller_was_killed_does_not_keep_the_terminal(
    session: Session, slow_server: ModelServer
) -> None:
    seen = Journal(slow_server)
    session.start_shell()
    session.type_how("sh -c '{}; true'", slow_server.url, "-p", "hi")
    wait_until(seen.requests)
    shell = psutil.Process(session.terminal.pid())
    for caller in shell.children():
        caller.kill()
    wait_until(lambda: not leftovers(session.home.root))
    session.enter("clear")
    session.end_shell()


def test_a_run_that_is_told_to_end_does_not_wait_for_a_held_terminal(
    session: Session, slow_server: ModelServer
) -> None:
    seen = Journal(slow_server)
    session.start_shell()
    session.type_how("{} &", slow_server.url, "-p", "hi")
    wait_until(seen.requests)
    session.terminal.send("C-s")
    assert "ended" in session.stop_all()
    session.terminal.send("C-q")
    session.enter("clear")
    session.end_shell()
