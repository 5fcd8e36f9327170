"""``homeroom`` alone tells where its user is, and what comes next."""

import json
from pathlib import Path
from typing import Any

import pytest

from homeroom.home import new_run_id
from homeroom.run import lock
from tests.conftest import PrivateHome
from tests.support.cli import run_homeroom

KEY = {"HOMEROOM_CLAUDE_API_KEY": "sk-ant-api03-" + "k" * 40}


def told(home: PrivateHome) -> tuple[dict[str, Any], str]:
    """Ask for both outputs; neither is an error, whatever they say."""
    machine = run_homeroom("--json", env=home.env, cwd=home.home)
    person = run_homeroom(env=home.env, cwd=home.home)
    for done in (machine, person):
        assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(machine.stdout)
    assert found["schema"] == 1
    return found, person.stdout


def test_before_the_setup_it_leads_there(private_home: PrivateHome) -> None:
    found, text = told(private_home)
    assert (found["state"], found["next"]) == ("not-set-up", "homeroom setup")
    assert "next:  homeroom setup" in text
    assert not private_home.root.exists(), "it wrote something"


def test_a_missing_system_tool_is_named_with_its_cure(
    ready_home: PrivateHome, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    found, text = told(ready_home.with_env(PATH=tmp_path / "bin"))
    assert found["state"] == "not-set-up"
    assert "bubblewrap" in found["problem"]
    assert found["hint"] in text


def test_after_the_setup_it_leads_to_the_login_and_to_the_demo(ready_home: PrivateHome) -> None:
    found, text = told(ready_home)
    assert (found["state"], found["next"]) == ("no-credential", "homeroom login claude")
    assert "homeroom start --demo" in text


def test_with_a_login_it_leads_to_the_start(ready_home: PrivateHome) -> None:
    found, text = told(ready_home.with_env(**KEY))
    assert (found["state"], found["next"]) == ("ready", "homeroom start")
    assert found["credential"] == "HOMEROOM_CLAUDE_API_KEY"
    assert KEY["HOMEROOM_CLAUDE_API_KEY"] not in text + json.dumps(found)


def test_it_speaks_of_the_agent_that_is_configured(ready_home: PrivateHome) -> None:
    config = ready_home.root / "config" / "config.toml"
    config.parent.mkdir(parents=True, mode=0o700)
    config.write_text("[run]\nprovider = 'codex'\n")
    found, _ = told(ready_home.with_env(**KEY))
    assert (found["agent"], found["next"]) == ("codex", "homeroom login codex")


@pytest.mark.parametrize("count", [1, 2])
def test_living_runs_are_counted_and_dead_ones_are_not(ready_home: PrivateHome, count: int) -> None:
    runs = ready_home.root / "state" / "runs"
    runs.mkdir(parents=True, mode=0o700)
    (runs / f"{new_run_id()}.lock").touch(0o600)
    held = [lock.try_acquire(runs / f"{new_run_id()}.lock") for _ in range(count)]
    found, text = told(ready_home)
    assert found["alive"] == count
    assert f"{count} run{'s are' if count > 1 else ' is'} alive" in text
    for each in held:
        assert each is not None
        each.release()


def test_a_login_that_cannot_be_used_is_explained(ready_home: PrivateHome) -> None:
    found, text = told(ready_home.with_env(HOMEROOM_CLAUDE_API_KEY="hunter2"))
    assert (found["state"], found["next"]) == ("broken", None)
    assert "HOMEROOM_CLAUDE_API_KEY" in text
    assert "hunter2" not in text


def test_a_configuration_that_cannot_be_read_is_explained(ready_home: PrivateHome) -> None:
    config = ready_home.root / "config" / "config.toml"
    config.parent.mkdir(parents=True, mode=0o700)
    config.write_text("[run\n")
    found, text = told(ready_home)
    assert found["state"] == "broken"
    assert "config.toml" in text


def test_words_that_are_no_command_are_still_refused(private_home: PrivateHome) -> None:
    for words in (["--"], ["--json", "--json"], ["--jso"], ["begin"]):
        done = run_homeroom(*words, env=private_home.env, cwd=private_home.home)
        assert done.returncode == 2, words
