"""The agent at a terminal: a real TUI in tmux, with a real shell around it where one matters."""

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from homeroom.toolchain.store import Toolchain
from tests.conftest import PrivateHome
from tests.e2e.runner import wait_until
from tests.e2e.session import ANSWER, PROMPT, SHELL_PROMPT, Session
from tests.support.cli import homeroom_argv
from tests.support.model_server import ModelServer, model_server, says
from tests.support.runs import Journal, assert_nothing_left, processes, the_one


def test_the_first_start_shows_the_prompt_and_answers(
    session: Session, journal: Journal, toolchain: Toolchain
) -> None:
    session.start(journal.url)
    screen = session.terminal.wait_for(PROMPT)
    assert f"Claude Code v{toolchain.tools['claude'].version}" in screen
    assert str(session.workspace)[-30:] in screen
    # Nobody has pressed a key yet: no dialog came first, and none comes with the question.
    session.ask()
    assert journal.messages("user")[-1].endswith("question 1")
    session.leave()
    assert session.terminal.wait_exit() == 0
    assert_nothing_left(session.home.root)


def test_a_new_size_reaches_the_agent(session: Session, journal: Journal) -> None:
    def rule(columns: int) -> re.Pattern[str]:
        return re.compile(rf"^─{{{columns}}}$", re.MULTILINE)

    session.start(journal.url)
    session.terminal.wait_for(rule(100))
    session.terminal.resize(72, 24)
    session.terminal.wait_for(rule(72))
    session.terminal.resize(110, 40)
    session.terminal.wait_for(rule(110))


def test_ctrl_z_gives_the_shell_back_and_fg_the_agent(session: Session, journal: Journal) -> None:
    session.start_shell()
    session.type_start(journal.url)
    for _ in range(2):
        # Not before it has answered: only then has it read what it asked the terminal.
        session.ask()
        session.suspend()
        session.enter("clear; fg")
    session.ask()
    # The agent takes the size that the terminal got while it slept.
    session.suspend()
    session.terminal.resize(80, 24)
    session.enter("clear; fg")
    session.terminal.wait_for(re.compile(r"^─{80}$", re.MULTILINE))
    session.ask()
    session.leave()
    session.terminal.wait_for(SHELL_PROMPT)
    session.end_shell()


def test_a_suspended_run_ends_when_its_terminal_goes(session: Session, journal: Journal) -> None:
    session.start_shell()
    session.type_start(journal.url)
    session.ask()
    session.terminal.send("C-z")
    session.terminal.wait_for(SHELL_PROMPT)
    session.terminal.close()
    wait_until(lambda: not processes(session.home.root))
    assert_nothing_left(session.home.root)


def test_a_run_ends_when_its_terminal_goes(session: Session, journal: Journal) -> None:
    session.start(journal.url)
    session.terminal.wait_for(PROMPT)
    session.terminal.close()
    wait_until(lambda: not processes(session.home.root))
    assert_nothing_left(session.home.root)


def kill_agent(session: Session, toolchain: Toolchain) -> None:
    session.agent(toolchain.tools["claude"].path).kill()


def end_supervisor(session: Session, _: Toolchain) -> None:
    the_one(session.home.root, "-m", "homeroom", "start", at=1).terminate()


@pytest.mark.parametrize(
    ("end", "status"), [(kill_agent, 137), (end_supervisor, 143)], ids=["killed", "ended"]
)
def test_the_terminal_is_usable_after_a_hard_end(
    session: Session,
    journal: Journal,
    toolchain: Toolchain,
    end: Callable[[Session, Toolchain], None],
    status: int,
) -> None:
    session.start_shell()
    session.enter("stty -a > ../before")
    before = session.home.home / "before"
    wait_until(lambda: before.exists() and before.read_text().endswith("\n"))
    session.type_start(journal.url)
    session.ask()
    end(session, toolchain)
    assert session.status() == status
    # Cursor, mouse reports, bracketed paste and the alternate screen, as tmux knows them.
    modes = "#{cursor_flag} #{mouse_any_flag} #{alternate_on} #{keypad_flag}"
    assert session.terminal._run("display-message", "-p", modes).strip() == "1 0 0 0"
    session.enter("clear; stty -a > ../after; echo typed and echoed")
    session.terminal.wait_for(re.compile(r"^typed and echoed$", re.MULTILINE))
    assert (session.home.home / "after").read_text() == before.read_text()
    session.end_shell()


def test_ctrl_c_ends_a_one_shot_run_as_it_ends_the_bare_agent(
    session: Session, slow_server: ModelServer, toolchain: Toolchain
) -> None:
    seen = Journal(slow_server)
    session.start_shell()
    bare = shlex.join([str(toolchain.tools["claude"].path), "-p", "hi"])
    key = "sk-ant-api03-" + "x" * 40
    variables = f"ANTHROPIC_BASE_URL={slow_server.url} ANTHROPIC_API_KEY={key}"
    session.enter(f'clear; {variables} {bare}; echo "status:" $?')
    wait_until(lambda: len(seen.requests()) == 1)
    session.terminal.send("C-c")
    expected = session.status()
    session.type_start(slow_server.url, "-p", "hi")
    wait_until(lambda: len(seen.requests()) == 2)
    session.terminal.send("C-c")
    assert session.status() == expected
    session.end_shell()


def test_ctrl_z_and_fg_work_for_a_one_shot_run(session: Session, toolchain: Toolchain) -> None:
    with model_server(toolchain, [says("slow " * 60)], "--latency", "100") as server:
        seen = Journal(server)
        session.start_shell()
        session.type_start(server.url, "-p", "hi")
        wait_until(lambda: len(seen.requests()) == 1)
        session.terminal.send("C-z")
        session.terminal.wait_for(SHELL_PROMPT)
        agent = session.agent(toolchain.tools["claude"].path)
        wait_until(lambda: agent.status() == psutil.STATUS_STOPPED)
        session.enter("clear; fg; echo status: $?")
        session.terminal.wait_for("slow slow")
        assert session.status() == 0
        session.end_shell()


def test_ctrl_c_in_haste_ends_a_run_as_well(session: Session, slow_server: ModelServer) -> None:
    seen = Journal(slow_server)
    session.start_shell()
    session.type_start(slow_server.url, "-p", "hi")
    wait_until(lambda: len(seen.requests()) == 1)
    for _ in range(3):
        session.terminal.send("C-c")
    assert session.status() in (0, 130)
    session.end_shell()


def test_an_agent_at_a_terminal_gets_what_is_piped_in_and_out(
    session: Session, journal: Journal
) -> None:
    argv = shlex.join(homeroom_argv("start", "--demo-server", journal.url, "--", "-p"))
    session.start_shell()
    session.enter(f'echo "from a pipe" | {argv} 2>/dev/null | tr a-z A-Z; echo "status:" $?')
    session.terminal.wait_for(ANSWER.upper())
    assert session.status() == 0
    assert "from a pipe" in journal.messages("user")[-1]
    session.end_shell()


def test_a_background_job_needs_no_terminal(
    ready_home: PrivateHome, workspace: Path, journal: Journal
) -> None:
    """As cron starts it: no terminal, no standard input at all."""
    argv = shlex.join(homeroom_argv("start", "--demo-server", journal.url, "--", "-p", "hi"))
    done = subprocess.run(
        ["setsid", "-w", "sh", "-c", f"{argv} <&-"],
        env=ready_home.env,
        cwd=workspace,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n"), done.stderr
    assert_nothing_left(ready_home.root)
