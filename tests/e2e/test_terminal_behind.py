"""What runs while the shell has the terminal cannot read there: a password that is typed, say."""

import os
import subprocess

import psutil
import pytest

from homeroom.toolchain.store import Toolchain
from tests.e2e.runner import wait_until
from tests.e2e.session import ANSWER, Session
from tests.support.cli import homeroom_argv
from tests.support.model_server import ModelServer, model_server, says
from tests.support.runs import Journal, leftovers, processes


def _in_sandbox(session: Session) -> list[psutil.Process]:
    """List what a run has started: it is not in the shell's session, as homeroom is."""
    shell = os.getsid(session.terminal.pid())
    return [one for one in processes(session.home.root) if os.getsid(one.pid) != shell]


def _holds_terminal(session: Session, process: psutil.Process) -> bool:
    terminal = os.stat(f"/proc/{session.terminal.pid()}/fd/0")
    held = f"/proc/{process.pid}/fd"
    return any(os.path.samestat(terminal, os.stat(f"{held}/{each}")) for each in os.listdir(held))


@pytest.mark.parametrize(
    ("how", "is_held"),
    [
        ("{}", True),
        ("{} &", False),
        ("({} &)", False),
        # Of its own job, which no shell brings to the front.
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
    inside = _in_sandbox(session)
    assert len(inside) > 2
    assert any(_holds_terminal(session, one) for one in inside) == is_held
    stop = homeroom_argv("stop", "--all")
    subprocess.run(stop, env=session.home.env, cwd=session.workspace, check=True)
    session.enter("wait; clear")
    session.end_shell()


def test_a_run_that_has_the_terminal_stays_stopped_after_bg_until_fg(
    session: Session, toolchain: Toolchain
) -> None:
    with model_server(toolchain, [says("slow " * 60)], "--latency", "100") as server:
        seen = Journal(server)
        session.start_shell()
        session.type_start(server.url, "-p", "hi")
        wait_until(seen.requests)
        session.suspend()
        session.send_behind()
        agent = session.agent(toolchain.tools["claude"].path)
        assert agent.status() == psutil.STATUS_STOPPED
        session.enter('clear; fg; echo "status:" $?')
        session.terminal.wait_for("slow slow")
        assert session.status() == 0
        session.end_shell()


def test_a_run_that_reads_a_pipe_goes_on_after_bg(session: Session, toolchain: Toolchain) -> None:
    with model_server(toolchain, [says("slow " * 60)], "--latency", "100") as server:
        seen = Journal(server)
        session.start_shell()
        session.type_how("echo words | {}", server.url, "-p")
        wait_until(seen.requests)
        session.suspend()
        agent = session.agent(toolchain.tools["claude"].path)
        assert agent.status() == psutil.STATUS_STOPPED
        session.enter('clear; bg; wait; echo "status:" $?')
        session.terminal.wait_for("slow slow")
        assert session.status() == 0
        session.end_shell()


@pytest.mark.parametrize("how", ["{} 2>&1 | cat", "{} 2>/dev/null", "{} >/dev/tty"])
def test_what_a_run_behind_the_shell_says_is_shown(
    session: Session, journal: Journal, how: str
) -> None:
    session.start_shell()
    session.type_how(f"({how} &)", journal.url, "-p", "hi")
    session.terminal.wait_for(ANSWER)
    wait_until(lambda: not leftovers(session.home.root))
    session.end_shell()
