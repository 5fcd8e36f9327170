"""What the command line says to somebody who mistyped, or asks how it goes on."""

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
