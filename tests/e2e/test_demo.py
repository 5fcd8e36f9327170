"""The demo, and one-shot runs: what goes in arrives, what comes out is the agent's alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from homeroom.toolchain.store import Toolchain
from tests.conftest import PrivateHome
from tests.e2e.runner import TOUCH, Runner
from tests.e2e.session import ANSWER
from tests.support import subreaper
from tests.support.cli import homeroom_argv
from tests.support.model_server import calls_then_says, model_server, says
from tests.support.runs import Journal, assert_nothing_left
from tests.support.tree import changes, snapshot

BYPASS = "--dangerously-skip-permissions"
# With it a request holds the prompt and the system prompt as given and nothing of the CLI's.
BARE = "--bare"

AWKWARD = (
    "  spaces  tab\t line\nreturn\r 'single' \"double\" `id` $(id) $HOME ${HOME} %s \\ \\n \\\n"
    "~ * ? [a-z] {a,b} ! # & && | || ; < > ( ) -- --settings=x -c é ß 日本 🙂 \x01\x7f\x1b[0m "
)
# The kernel takes no longer single argument: MAX_ARG_STRLEN in execve(2).
LONGEST = 128 * 1024 - 1


def test_the_demo_answers_on_stdout_and_leaves_nothing(
    ready_home: PrivateHome, workspace: Path, tmp_path: Path
) -> None:
    before = snapshot(ready_home.home)
    survivors = tmp_path / "survivors"
    command = homeroom_argv("start", "--demo", "--", "-p", "hello")
    done = subprocess.run(
        [sys.executable, subreaper.__file__, str(survivors), *command],
        env=ready_home.env,
        cwd=workspace,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, survivors.read_text()) == (0, "")
    assert done.stdout.startswith("Hello from a private, pinned, sandboxed room.")
    assert done.stdout.count("\n") == 1
    assert "this is a demo" in done.stderr
    assert "homeroom" not in done.stdout
    assert changes(before, snapshot(ready_home.home)) == []
    assert_nothing_left(ready_home.root)


def test_a_program_that_outlives_its_parent_is_noticed(tmp_path: Path) -> None:
    """Else the test above could not fail."""
    survivors = tmp_path / "survivors"
    hidden = "setsid sleep 61 >/dev/null 2>&1 & exit 5"
    command = [sys.executable, str(subreaper.__file__), str(survivors), "sh", "-c", hidden]
    assert subprocess.run(command, timeout=30, check=False).returncode == 5
    assert survivors.read_text() == "sleep 61\n"


@pytest.mark.parametrize(
    "name",
    [
        "two words",
        """it's "quoted" `id`""",
        "$HOME $(id) ${x}",
        "two\nlines",
        "größe 日本 🙂",
        "-rf",
        "--",
        "a\\b*?[x]{y}!",
        "~",
        "n" * 200,
    ],
)
def test_a_directory_may_have_any_name(
    runner: Runner, journal: Journal, tmp_path: Path, name: str
) -> None:
    directory = tmp_path / name
    directory.mkdir()
    done = runner.start(journal, "-p", TOUCH, BYPASS, cwd=directory)
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n")
    assert snapshot(tmp_path / name).keys() == {".", "made-inside"}
    assert (directory / "made-inside").read_text() == "made\n"


def test_the_directory_may_be_named_from_elsewhere(runner: Runner, journal: Journal) -> None:
    (runner.workspace / "below").mkdir()
    options = ("-C", "project/below")
    done = runner.start(journal, "-p", TOUCH, BYPASS, options=options, cwd=runner.home.home)
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n")
    assert (runner.workspace / "below" / "made-inside").read_text() == "made\n"


def test_what_is_piped_in_reaches_the_agent(runner: Runner, journal: Journal) -> None:
    piped = "first line\nzweite Zeile, ohne Ende"
    done = runner.start(journal, "-p", "summarize", BARE, stdin=piped)
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n")
    [asked] = journal.messages("user")
    assert "summarize" in asked
    assert piped in asked


def test_much_may_be_piped_in(runner: Runner, toolchain: Toolchain) -> None:
    # The journal keeps no body of this size, so that the match itself tells.
    text = "begin" + "".join(f" {number}" for number in range(200_000)) + " end"
    assert len(text) > 1_000_000
    with model_server(toolchain, [says("all of it", userMessage=text), says("cut")]) as server:
        done = runner.start(server, "-p", BARE, stdin=text)
    assert (done.returncode, done.stdout) == (0, "all of it\n")


def test_every_argument_arrives_as_it_is(runner: Runner, journal: Journal) -> None:
    done = runner.start(journal, "-p", BARE, "--system-prompt", AWKWARD, "--", f"-- {AWKWARD}")
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n")
    assert journal.messages("user") == [f"-- {AWKWARD}"]
    assert AWKWARD in journal.messages("system")[-1]


def test_arguments_may_be_as_long_as_the_kernel_lets_them(
    runner: Runner, toolchain: Toolchain
) -> None:
    prompt = "begin" + "p" * (LONGEST - 8) + "end"
    system = "begin" + "s" * (LONGEST - 8) + "end"
    fixtures = [says("all of it", userMessage=prompt, systemMessage=system), says("cut")]
    with model_server(toolchain, fixtures) as server:
        done = runner.start(server, "-p", BARE, "--system-prompt", system, prompt)
    assert (done.returncode, done.stdout) == (0, "all of it\n")


SHOW_ENVIRONMENT = {"command": "env -0 | sort -z | tr '\\0' '\\n'", "description": "look"}


def test_no_variable_of_the_caller_leads_out_of_the_room(
    runner: Runner, toolchain: Toolchain, tmp_path: Path
) -> None:
    trap, sprung = tmp_path / "trap.sh", tmp_path / "sprung"
    trap.write_text(f"touch {sprung}\n")
    elsewhere = tmp_path / "hostile"
    elsewhere.mkdir()
    directories = ["CLAUDE_CONFIG_DIR", "CLAUDE_SECURESTORAGE_CONFIG_DIR", "CODEX_HOME"]
    directories += [f"XDG_{kind}_HOME" for kind in ("CONFIG", "DATA", "STATE", "CACHE")]
    directories += ["XDG_RUNTIME_DIR", "TMPDIR", "CLAUDE_CODE_TMPDIR", "CLAUDE_TMPDIR"]
    hostile = {
        **dict.fromkeys(directories, str(elsewhere)),
        **{name: str(trap) for name in ("BASH_ENV", "ENV", "GIT_CONFIG_GLOBAL", "PYTHONSTARTUP")},
        "ANTHROPIC_API_KEY": "sk-ant-hostile",
        "ANTHROPIC_AUTH_TOKEN": "hostile",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9/hostile",
        "ANTHROPIC_MODEL": "hostile",
        "BASH_FUNC_cd%%": f"() {{ touch {sprung}; }}",
        "BUN_OPTIONS": "--preload=/hostile.js",
        "CLAUDECODE": "hostile",
        "CLAUDE_CODE_CHILD_SESSION": "hostile",
        "CLAUDE_CODE_OAUTH_TOKEN": "hostile",
        "CLAUDE_CODE_USE_BEDROCK": "1",
        "GIT_DIR": "/hostile",
        "HOMEROOM_RUN": "hostile",
        "LD_LIBRARY_PATH": "/hostile",
        "NODE_EXTRA_CA_CERTS": "/hostile",
        "NODE_OPTIONS": "--require=/hostile.js",
        "OPENAI_API_KEY": "hostile",
        "SSH_AUTH_SOCK": "/hostile",
        **{
            name: "http://127.0.0.1:9/hostile"
            for proxy in ("http_proxy", "https_proxy", "all_proxy")
            for name in (proxy, proxy.upper())
        },
        "NO_PROXY": "hostile",
        "no_proxy": "hostile",
    }
    with model_server(toolchain, calls_then_says("Bash", SHOW_ENVIRONMENT, ANSWER)) as server:
        seen = Journal(server)
        plain = runner.start(server, "-p", "look", BYPASS)
        expected = _names(seen.result())
        done = runner.start(server, "-p", "look", BYPASS, env=hostile | runner.home.env)
        found = seen.result()
    assert (plain.returncode, plain.stdout) == (0, f"{ANSWER}\n")
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n")
    assert "hostile" not in found
    assert _names(found) == expected
    assert not sprung.exists()
    assert snapshot(elsewhere).keys() == {"."}


def test_a_library_to_preload_stays_outside(runner: Runner, toolchain: Toolchain) -> None:
    with model_server(toolchain, calls_then_says("Bash", SHOW_ENVIRONMENT, ANSWER)) as server:
        seen = Journal(server)
        env = runner.home.env | {"LD_PRELOAD": "/hostile.so"}
        done = runner.start(server, "-p", "look", BYPASS, env=env)
        found = seen.result()
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n")
    assert "hostile" not in found
    assert "ld.so" not in found


def _names(environment: str) -> set[str]:
    return {line.partition("=")[0] for line in environment.splitlines() if "=" in line}


def test_a_chosen_variable_is_passed_in(runner: Runner, toolchain: Toolchain) -> None:
    command = {"command": 'printf "<%s>" "$CHOSEN" "$HOME" "$CLAUDE_CONFIG_DIR"'}
    with model_server(toolchain, calls_then_says("Bash", command, ANSWER)) as server:
        seen = Journal(server)
        done = runner.start(
            server,
            *("-p", "look", BYPASS),
            options=("--env", "CHOSEN", "--env", "HOME", "--env", "CLAUDE_CONFIG_DIR"),
            env=runner.home.env
            | {"CHOSEN": AWKWARD, "CLAUDE_CONFIG_DIR": str(runner.home.home / "mine")},
        )
        chosen, home, config = seen.result().removesuffix(">").removeprefix("<").split("><")
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n")
    assert chosen == AWKWARD
    # What pins the agent to its room is no one's choice.
    assert home.startswith(f"{runner.home.root}/state/instances/run_")
    assert config == f"{home}/.claude"


def test_a_chosen_variable_that_is_not_set_is_refused(runner: Runner, journal: Journal) -> None:
    done = runner.start(journal, "-p", "hi", options=("--env", "NOT_SET"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "--env NOT_SET" in done.stderr
    assert journal.requests() == []


def test_an_option_the_agent_does_not_know_gives_its_own_status(
    runner: Runner, journal: Journal
) -> None:
    done = runner.start(journal, "--no-such-option")
    assert (done.returncode, done.stdout) == (1, "")
    assert "unknown option '--no-such-option'" in done.stderr


def test_the_agent_that_answers_is_the_pinned_one(
    runner: Runner, journal: Journal, toolchain: Toolchain
) -> None:
    done = runner.start(journal, "--version")
    assert done.returncode == 0
    assert done.stdout.startswith(f"{toolchain.tools['claude'].version} ")


def test_a_model_server_that_is_not_there_gives_the_agents_own_error(
    runner: Runner, free_port: int
) -> None:
    done = runner.start(
        f"http://127.0.0.1:{free_port}",
        *("-p", "hi"),
        options=("--env", "CLAUDE_CODE_MAX_RETRIES"),
        env=runner.home.env | {"CLAUDE_CODE_MAX_RETRIES": "0"},
    )
    assert done.returncode == 1
    assert "API Error" in done.stdout


@pytest.mark.parametrize(("name", "status"), [("KILL", 137), ("TERM", 143)])
def test_an_agent_that_a_signal_ends_gives_128_and_its_number(
    runner: Runner, toolchain: Toolchain, name: str, status: int
) -> None:
    # The shell's parent is the agent.
    command = {"command": f"kill -{name} $PPID; sleep 20"}
    with model_server(toolchain, calls_then_says("Bash", command, ANSWER)) as server:
        done = runner.start(server, "-p", "hi", BYPASS)
    assert (done.returncode, done.stdout) == (status, "")


def test_stdout_that_is_closed_early_ends_the_run(runner: Runner, journal: Journal) -> None:
    argv = homeroom_argv("start", "--demo-server", journal.url, "--", "-p", "hi")
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        argv,
        env=runner.home.env,
        cwd=runner.workspace,
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    os.close(writer)
    assert b"Traceback" not in done.stderr
    assert_nothing_left(runner.home.root)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:80/x", "https://127.0.0.1:80", "http://example.org:80", "x", ""]
)
def test_a_demo_server_elsewhere_is_refused(runner: Runner, url: str) -> None:
    done = runner.start(url, "-p", "hi")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"--demo-server {url}" in done.stderr
