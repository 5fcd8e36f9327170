"""What the command line says to somebody who mistyped, or asks how it goes on."""

from pathlib import Path

import pytest

from tests.conftest import PrivateHome
from tests.support.cli import run_homeroom


@pytest.mark.parametrize("words", [(), ("start",), ("login",), ("list",)], ids=str)
def test_help_is_a_word_as_well(private_home: PrivateHome, words: tuple[str, ...]) -> None:
    asked = run_homeroom("help", *words, env=private_home.env, cwd=private_home.home)
    option = run_homeroom(*words, "--help", env=private_home.env, cwd=private_home.home)
    assert asked.returncode == 0
    assert asked.stdout.startswith("usage: homeroom")
    assert asked.stdout == option.stdout


def test_help_on_a_misspelt_command_names_the_near_one(private_home: PrivateHome) -> None:
    done = run_homeroom("help", "stat", env=private_home.env, cwd=private_home.home)
    assert done.returncode == 2
    assert "did you mean start?" in done.stderr


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("start", "cluade"), "claude"),
        (("dry-run", "Claude"), "claude"),
        (("login", "codx"), "codex"),
        (("logout", "codexx"), "codex"),
    ],
)
def test_a_misspelt_agent_gets_the_near_one(
    private_home: PrivateHome, words: tuple[str, ...], meant: str
) -> None:
    done = run_homeroom(*words, env=private_home.env, cwd=private_home.home)
    assert done.returncode == 2
    assert f"did you mean {meant}?" in done.stderr


def test_discard_alone_is_refused_because_it_would_remove_nothing(
    private_home: PrivateHome,
) -> None:
    done = run_homeroom("start", "--discard", env=private_home.env, cwd=private_home.home)
    assert done.returncode == 2
    assert "homeroom: error: --discard goes with --worktree" in done.stderr


KEY = "sk-ant-api03-" + "AbCd0123" * 4


@pytest.mark.parametrize(
    "words",
    [
        ("login", "--api-key", KEY),
        ("login", "--token", KEY),
        ("login", "claude", "--api-key", KEY),
        ("login", "--api-key", "--offline", "claude", KEY),
        ("login", f"--api-key={KEY}"),
        ("login", "--api-key", KEY, "--json"),
        ("start", "--api-key-env", KEY),
        ("start", KEY),
        ("start", "--api-key", KEY),
        ("start", f"--api-key={KEY}"),
        ("dry-run", "--env", f"MY_KEY={KEY}"),
        (KEY,),
        ("help", KEY),
        ("transcript", "x", "--export", f"it's\n{KEY}"),
    ],
    ids=lambda words: " ".join(words).replace(KEY, "KEY"),
)
def test_a_key_on_the_command_line_is_refused_and_never_repeated(
    private_home: PrivateHome, workspace: Path, words: tuple[str, ...]
) -> None:
    done = run_homeroom(*words, env=private_home.env, cwd=workspace)
    assert done.returncode == 2
    assert "homeroom: error: " in done.stderr
    assert KEY[:10] not in done.stdout + done.stderr
    if words[0] == "login" and "=" not in words[-1]:
        assert "hint: a key or token is asked for, without showing it" in done.stderr


@pytest.mark.parametrize("words", [("dry-run",), ("start",), ("login", "--status"), ("commands",)])
def test_an_agent_in_the_configuration_that_there_is_not_is_its_fault(
    private_home: PrivateHome, workspace: Path, words: tuple[str, ...]
) -> None:
    path = private_home.root / "config" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text('[run]\nprovider = "cluade"\n')
    if words == ("commands",):
        words = (*words, "--workspace", ".")
    done = run_homeroom(*words, env=private_home.env, cwd=workspace)
    assert done.returncode == 78
    assert f"error: {path}: run.provider: there is no agent 'cluade'" in done.stderr
    assert "did you mean claude?" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("logs",), "hint: name a run: `homeroom list` shows them"),
        (("attach",), "hint: name a run: `homeroom list` shows them"),
        (("send",), "hint: name a run: `homeroom list` shows them"),
        (("send", "x", "-x"), "hint: a text that begins with - comes after --"),
        (("start", "--demo", "hello"), "-- -p 'hello'"),
        (("-v",), "--version"),
        (("version",), "did you mean --version?"),
        (("logs", "x", "--folow"), "did you mean --follow?"),
        (("run",), "did you mean start?"),
        (("ls",), "did you mean list?"),
        (("status",), "did you mean list?"),
        (("explain this code please",), "-- -p 'hello'"),
        (("list", "-a"), "did you mean --all?"),
        (("list", "review"), "see `homeroom list --help`"),
        (("start", "-p", "hello"), "-- -p 'hello'"),
        (("start", "--nonsense"), "-- -p 'hello'"),
        (("dry-run", "--detach"), "hint: --detach is an option of homeroom start\n"),
        (("--demo", "start"), "options come after the command, as in: homeroom start --demo"),
        (("logs", "x", "--json"), "see `homeroom logs --help`"),
        (("start", "--demo", "--worktree", "codex"), "homeroom start codex --worktree"),
        (("start", "--demo", "--afk", " "), "--afk: the prompt is empty"),
    ],
    ids=str,
)
def test_a_word_that_is_missing_or_misplaced_is_helped_on(
    private_home: PrivateHome, workspace: Path, words: tuple[str, ...], said: str
) -> None:
    done = run_homeroom(*words, env=private_home.env, cwd=workspace)
    assert done.returncode == 2
    assert "\nhomeroom: error: " in f"\n{done.stderr}"
    assert said in done.stderr


def test_the_usage_in_an_error_is_of_the_command_that_was_given(private_home: PrivateHome) -> None:
    done = run_homeroom("list", "--al", env=private_home.env, cwd=private_home.home)
    assert done.stderr.startswith("usage: homeroom list ")
