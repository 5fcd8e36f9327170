"""The command line: what it says, where it says it, and with which status it ends."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from homeroom import __version__
from homeroom.cli import main
from tests.conftest import PrivateHome
from tests.support.cli import homeroom_argv, run_homeroom
from tests.support.tree import snapshot


def commands() -> list[str]:
    """List the commands as the parser knows them, so that none is forgotten here."""
    (choices,) = (action.choices for action in main._parser()._actions if action.dest == "command")
    assert choices
    return sorted(choices)


COMMANDS = commands()


def run(
    home: PrivateHome, *arguments: str | Path, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return run_homeroom(*arguments, env=home.env, cwd=cwd or home.home)


@pytest.mark.parametrize("words", [(), *((name,) for name in COMMANDS)], ids=str)
def test_every_command_helps_on_stdout_and_ends_with_success(
    private_home: PrivateHome, words: Sequence[str]
) -> None:
    before = snapshot(private_home.home.parent)
    done = run(private_home, *words, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: homeroom")
    assert snapshot(private_home.home.parent) == before


def test_the_help_names_the_commands_of_a_first_day(private_home: PrivateHome) -> None:
    listed = run(private_home, "--help").stdout
    for name in ("setup", "start", "dry-run", "sweep"):
        assert f"\n    {name} " in listed


def test_the_version_is_the_packages(private_home: PrivateHome) -> None:
    assert run(private_home, "--version").stdout == f"homeroom {__version__}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--nonsense"], "required: COMMAND"),
        (["nonsense"], "invalid choice: 'nonsense'"),
        (["start", "--nonsense"], "unrecognized arguments: --nonsense"),
        (["start", "-p", "hello"], "unrecognized arguments"),
        (["start", "claude", "more"], "unrecognized arguments: more"),
        (["start", "--api-key-env"], "expected one argument"),
        (["start", "--api-key-env", "A", "--no-credentials"], "not allowed with"),
        (["start", "--dry"], "unrecognized arguments: --dry"),
        (["check", "--onyl", "x"], "did you mean --only?"),
        (["start", "--timeout", "abc"], "'abc' is no time: write 90, 90s, 5m, 2h or 1d"),
        (["start", "--max-idle", "1.5h"], "'1.5h' is no time"),
        (["start", "--timeout", "9999999w"], "'9999999w' is no time"),
        (["dry-run", "--js"], "unrecognized arguments: --js"),
        (["sweep", "--", "x"], "takes no arguments after --"),
        (["setup", "--", "x"], "takes no arguments after --"),
        (["sweep", "more"], "unrecognized arguments: more"),
    ],
    ids=" ".join,
)
def test_a_command_line_that_does_not_fit_is_explained_on_stderr(
    private_home: PrivateHome, words: list[str], said: str
) -> None:
    done = run(private_home, *words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not private_home.root.exists()


@pytest.mark.parametrize(
    ("words", "said", "hint"),
    [
        (["dry-run", "nobody"], "there is no agent 'nobody'", "the agents are: claude"),
        (["start", "--json"], "--json goes with --dry-run", None),
        (["dry-run", "--env", "NOT_SET"], "--env NOT_SET: there is no such variable", "export"),
        (["dry-run", "--demo-server", "http://example.org"], "not a server of this", "127.0.0.1"),
        (["dry-run", "--demo-server", "http://127.0.0.1:1@x"], "not a server of this", "127"),
        (["setup", "--pin", "a=1"], "--pin only goes with --upgrade-pins", None),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_asked_for_and_does_not_exist_is_a_usage_error(
    private_home: PrivateHome, workspace: Path, words: list[str], said: str, hint: str | None
) -> None:
    done = run(private_home, *words, cwd=workspace)
    assert done.returncode == 2
    first, *rest = done.stderr.splitlines()
    assert first.startswith("homeroom: error: ")
    assert said in first
    if hint is not None:
        assert rest[0].startswith("homeroom: hint: ")
        assert hint in rest[0]
    assert not private_home.root.exists()


def test_an_error_is_one_json_document_where_json_was_asked_for(
    private_home: PrivateHome, workspace: Path
) -> None:
    done = run(private_home, "dry-run", "nobody", "--json", cwd=workspace)
    assert done.returncode == 2
    document = json.loads(done.stdout)
    assert document["schema"] == 1
    assert document["error"]["kind"] == "usage"
    assert document["error"]["message"] == "there is no agent 'nobody'"
    assert document["error"]["exit_code"] == 2
    assert "claude" in document["error"]["hint"]
    assert "homeroom: error: there is no agent 'nobody'" in done.stderr


def test_a_word_for_the_agent_asks_nothing_of_homeroom(
    private_home: PrivateHome, workspace: Path
) -> None:
    """After ``--`` even ``--json`` is the agent's: an error stays text then."""
    done = run(private_home, "dry-run", "nobody", "--", "--json", cwd=workspace)
    assert done.returncode == 2
    assert done.stdout == ""


def plan(home: PrivateHome, cwd: Path, *words: str) -> dict[str, Any]:
    done = run(home, "dry-run", "--json", "--no-credentials", *words, cwd=cwd)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["-p", "hello"],
        ["--help"],
        ["--version"],
        ["--json"],
        ["--dry-run"],
        ["--", "-c", "x"],
        ["a", "--", "b", "--", "c"],
        ["", " ", "new\nline", "'\"", "$HOME", "äö", "-C", "/nowhere"],
    ],
    ids=str,
)
def test_everything_after_two_dashes_is_the_agents(
    private_home: PrivateHome, workspace: Path, words: list[str]
) -> None:
    found = plan(private_home, workspace, *(["claude"] if words else []), "--", *words)
    assert found["agent"]["argv"][1:] == words
    assert not private_home.root.exists()


def test_a_plan_is_text_for_people_and_says_the_same(
    private_home: PrivateHome, workspace: Path
) -> None:
    done = run(private_home, "dry-run", "--no-credentials", cwd=workspace)
    assert done.returncode == 0
    assert str(workspace) in done.stdout
    assert "NOT READY" in done.stdout
    assert "none: the room starts logged out" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("name", ["with space", "quo'te\"s", "new\nline", "$HOME", "äö", "x" * 200])
def test_any_directory_can_be_named(private_home: PrivateHome, name: str) -> None:
    directory = private_home.home / name
    directory.mkdir()
    found = plan(private_home, private_home.home, "-C", str(directory))
    assert found["workspace"]["directory"] == str(directory)


@pytest.mark.parametrize(
    ("where", "said"),
    [("nothing", "No such file"), ("..", "your home directory"), ("/", "the whole machine")],
)
def test_a_directory_that_will_not_do_has_its_own_status(
    private_home: PrivateHome, workspace: Path, where: str, said: str
) -> None:
    done = run(private_home, "start", "-C", where, cwd=workspace)
    assert done.returncode == 66
    assert said in done.stderr
    assert "hint:" in done.stderr
    assert not private_home.root.exists()


def test_a_faulty_configuration_has_its_own_status(
    private_home: PrivateHome, workspace: Path
) -> None:
    (private_home.root / "config").mkdir(parents=True)
    path = private_home.root / "config/config.toml"
    path.write_text("[netwrok]\n")
    for words in (["start"], ["dry-run"]):
        done = run(private_home, *words, cwd=workspace)
        assert done.returncode == 78
        assert f"{path}: unknown key 'netwrok'" in done.stderr
        assert "did you mean network?" in done.stderr
    path.unlink()
    path.mkdir()
    assert run(private_home, "dry-run", cwd=workspace).returncode == 78


def test_without_a_toolchain_a_start_says_what_to_do(
    private_home: PrivateHome, workspace: Path
) -> None:
    done = run(private_home, "start", cwd=workspace)
    assert done.returncode == 69
    assert "homeroom: hint: homeroom setup" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_home_that_is_the_whole_machine_is_refused(
    private_home: PrivateHome, workspace: Path
) -> None:
    done = run(private_home.with_env(HOME="/"), "dry-run", cwd=workspace)
    assert done.returncode == 73
    assert "HOME is not set to a directory of your own" in done.stderr


def test_a_root_that_json_cannot_hold_is_named(private_home: PrivateHome, workspace: Path) -> None:
    root = os.fsdecode(os.fsencode(private_home.root) + b"\xff")
    done = run(private_home.with_env(HOMEROOM_HOME=root), "dry-run", cwd=workspace)
    assert done.returncode == 77
    assert "xff" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_variable_that_the_terminal_cannot_show_is_shown_all_the_same(
    private_home: PrivateHome, workspace: Path
) -> None:
    home = private_home.with_env(EDITOR=os.fsdecode(b"\xff-ed"), PYTHONIOENCODING="ascii:strict")
    (private_home.home / "ä").mkdir()
    done = run(home, "dry-run", "--no-credentials", cwd=private_home.home / "ä")
    assert (done.returncode, done.stderr) == (0, "")
    assert "EDITOR=\\udcff-ed" in done.stdout
    done = run(home, "dry-run", "-C", "nothing-ä", cwd=workspace)
    assert done.returncode == 66
    assert "nothing-\\xe4" in done.stderr


def test_with_nothing_to_sweep_a_sweep_says_so(private_home: PrivateHome) -> None:
    done = run(private_home, "sweep")
    assert (done.returncode, done.stdout, done.stderr) == (0, "nothing to sweep\n", "")
    done = run(private_home, "sweep", "--dry-run", "--json")
    assert json.loads(done.stdout) == {"schema": 1, "dry_run": True, "entries": []}
    assert not private_home.root.exists()


def test_a_sweep_that_could_not_remove_everything_ends_with_one(
    private_home: PrivateHome, tmp_path: Path
) -> None:
    state = private_home.root / "state"
    state.mkdir(parents=True, mode=0o700)
    (tmp_path / "precious/data").mkdir(parents=True)
    (state / "trash").symlink_to(tmp_path / "precious")
    done = run(private_home, "sweep", "--json")
    assert done.returncode == 1
    entries = json.loads(done.stdout)["entries"]
    assert [(entry["name"], entry["verdict"]) for entry in entries] == [
        (str(state / "trash"), "failed")
    ]
    assert (tmp_path / "precious/data").is_dir()
    assert run(private_home, "sweep").returncode == 1


# One that fits a buffer, one that does not, and one that argparse prints.
OUTPUTS = [["sweep"], ["dry-run", "--no-credentials"], ["--help"], ["start", "--help"]]


@pytest.mark.parametrize("words", OUTPUTS, ids=" ".join)
def test_a_reader_that_has_gone_ends_it_quietly(
    private_home: PrivateHome, workspace: Path, words: list[str]
) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        done = subprocess.run(
            homeroom_argv(*words),
            env=private_home.env,
            cwd=workspace,
            stdout=write_end,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    finally:
        os.close(write_end)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("words", OUTPUTS, ids=" ".join)
def test_output_that_cannot_be_written_is_a_failure(
    private_home: PrivateHome, workspace: Path, tmp_path: Path, words: list[str]
) -> None:
    # As on a full disk, for root as well.
    limited = 'trap "" XFSZ; ulimit -f 0; exec "$@"'
    with (tmp_path / "out").open("wb") as out:
        done = subprocess.run(
            ["/bin/sh", "-c", limited, "sh", *homeroom_argv(*words)],
            env=private_home.env,
            cwd=workspace,
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    assert done.returncode == 74
    assert done.stderr.startswith(
        "homeroom: error: cannot write to standard output: File too large"
    )
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("closed", ["1>&-", "2>&-", "0<&-", "0<&- 1>&- 2>&-"])
@pytest.mark.parametrize(("words", "status"), [("sweep", 0), ("dry-run nobody", 2)])
def test_closed_streams_change_no_status(
    private_home: PrivateHome, closed: str, words: str, status: int
) -> None:
    command = f'exec "$0" -m homeroom {words} {closed}'
    done = subprocess.run(
        ["/bin/sh", "-c", command, sys.executable],
        env=private_home.env,
        cwd=private_home.home,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == status
    assert "Traceback" not in done.stderr
