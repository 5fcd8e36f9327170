"""A supervisor that is killed while no agent is at work: all that it had started goes as well."""

import signal
import subprocess

from tests.e2e.runner import Runner, age, sweep, wait_until
from tests.e2e.session import Session
from tests.e2e.slow import SlowSandbox
from tests.support.cli import homeroom_argv
from tests.support.runs import Journal, assert_nothing_left, processes


def begin(slow: SlowSandbox, runner: Runner, journal: Journal) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        homeroom_argv("start", "--demo-server", journal.url, "--", "-p", "hi"),
        env=slow.home.env,
        cwd=runner.workspace,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def assert_it_ends(slow: SlowSandbox, run: "subprocess.Popen[bytes]", journal: Journal) -> None:
    # Whoever reads the output is not kept waiting, and no sweep was needed for that.
    assert run.communicate(timeout=30)[0] == b""
    assert run.returncode == -signal.SIGKILL
    wait_until(lambda: not processes(slow.home.root))
    assert journal.requests() == []
    age(slow.home.root)
    assert {entry["verdict"] for entry in sweep(slow.home)} == {"removed"}


def test_killed_while_the_sandbox_comes_up(
    slow: SlowSandbox, runner: Runner, journal: Journal
) -> None:
    run = begin(slow, runner, journal)
    slow.wait_begun()
    run.kill()
    run.wait()
    slow.go_on()
    assert_it_ends(slow, run, journal)


def test_killed_while_the_sandbox_waits_to_let_the_agent_in(
    slow: SlowSandbox, runner: Runner, journal: Journal
) -> None:
    run = begin(slow, runner, journal)
    slow.wait_begun()
    run.send_signal(signal.SIGSTOP)
    slow.come_up()
    assert not slow.has_agent()
    run.kill()
    assert_it_ends(slow, run, journal)


def test_killed_while_its_agent_is_suspended(session: Session, journal: Journal) -> None:
    """Nobody could ever wake it."""
    session.start_shell()
    session.type_start(journal.url)
    session.ask()
    session.suspend()
    session.enter("clear; kill -KILL %1; wait; echo gone")
    session.terminal.wait_for("gone")
    shell = session.terminal.pid()
    wait_until(lambda: [one.pid for one in processes(session.home.root)] == [shell])
    # Twice: the shell may not have heard of the death yet, and warns of a stopped job then.
    session.enter("exit; exit")
    session.terminal.wait_exit()
    age(session.home.root)
    assert {entry["verdict"] for entry in sweep(session.home)} == {"removed"}
    assert_nothing_left(session.home.root)
