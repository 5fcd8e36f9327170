"""Without any login: what could only fail is refused at once, and all else starts."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from homeroom import provider
from tests.conftest import PrivateHome
from tests.support.cli import run_homeroom
from tests.support.runs import leftovers, processes

REFUSED = 76
ONCE = {"claude": ("-p", "hi"), "codex": ("exec", "hi")}


@pytest.fixture
def _nothing_goes_on(ready_home: PrivateHome) -> Iterator[None]:
    """Where a run was not refused, nobody would end it."""
    yield
    for left in processes(ready_home.root):
        left.kill()


@pytest.mark.usefixtures("_nothing_goes_on")
@pytest.mark.parametrize("agent", provider.names())
@pytest.mark.parametrize("how", ["plain", "afk", "detached"])
def test_one_answer_is_refused_with_what_to_do(
    ready_home: PrivateHome, workspace: Path, agent: str, how: str
) -> None:
    words = {
        "plain": ("--", *ONCE[agent]),
        "afk": ("--afk", "hi"),
        "detached": ("--detach", "--afk", "hi"),
    }
    done = run_homeroom("start", agent, *words[how], env=ready_home.env, cwd=workspace)
    assert done.returncode == REFUSED, done.stderr
    assert f"homeroom: error: {agent} is not logged in" in done.stderr
    assert f"`homeroom login {agent}`" in done.stderr
    assert "--api-key-env" in done.stderr
    assert leftovers(ready_home.root) == []
    assert not (ready_home.root / "tmp" / "tmux").exists()


def test_a_dry_run_says_that_it_would_be_refused(ready_home: PrivateHome, workspace: Path) -> None:
    words = ("dry-run", "codex", "--json", "--", "exec", "hi")
    done = run_homeroom(*words, env=ready_home.env, cwd=workspace)
    assert done.returncode == 0
    obstacle = json.loads(done.stdout)["obstacle"]
    assert obstacle["message"].startswith("codex is not logged in")
    assert "homeroom login codex" in obstacle["hint"]
    plain = run_homeroom("dry-run", "codex", env=ready_home.env, cwd=workspace)
    assert "NOT READY" not in plain.stdout


def test_what_needs_no_login_starts(ready_home: PrivateHome, workspace: Path) -> None:
    for agent in provider.names():
        words = ("start", agent, "--", "--version")
        done = run_homeroom(*words, env=ready_home.env, cwd=workspace)
        assert done.returncode == 0, done.stderr


def test_who_wants_to_be_logged_out_is(ready_home: PrivateHome, workspace: Path) -> None:
    words = ("start", "--no-credentials", "--", "-p", "hi")
    done = run_homeroom(*words, env=ready_home.env, cwd=workspace)
    assert (done.returncode, "Not logged in" in done.stdout) == (1, True), done.stderr


def test_a_key_under_the_agents_own_name_is_a_way_in(
    ready_home: PrivateHome, workspace: Path
) -> None:
    """Passed by the option or by the configuration; one that is not set lets nobody in."""
    words = ("dry-run", "--json")
    once = ("--", "-p", "hi")
    config = ready_home.root / "config" / "config.toml"
    env = ready_home.env | {"ANTHROPIC_API_KEY": "sk-ant-api03-of-no-worth"}

    def obstacle(env: dict[str, str], *options: str) -> object:
        done = run_homeroom(*words, *options, *once, env=env, cwd=workspace)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["obstacle"]

    assert obstacle(env), "a variable that is not passed on is none"
    assert obstacle(env, "--env", "ANTHROPIC_API_KEY") is None
    config.parent.mkdir(mode=0o700, parents=True)
    config.write_text('[environment]\ninherit = ["ANTHROPIC_API_KEY"]\n')
    assert obstacle(env) is None
    assert obstacle(ready_home.env)
