"""What a run offers, and where its conversation can be seen."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from homeroom.home import instance_of
from homeroom.paths import locate
from homeroom.provider import common
from homeroom.toolchain.store import Toolchain
from tests.life.conftest import Life, wait_until

SITE = "https://claude.ai/code"


@pytest.fixture(autouse=True)
def files(life: Life) -> None:
    """A command of the project's, and one of the user's own."""
    for base, name in ((life.workspace, "project/deploy"), (life.home.home, "mine")):
        path = base / ".claude" / "commands" / f"{name}.md"
        path.parent.mkdir(parents=True)
        path.write_text("do it")
    skill = life.workspace / ".claude" / "skills" / "review" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("look")


def offered(life: Life, *words: str | Path) -> set[tuple[str, str, str]]:
    rows: list[dict[str, Any]] = life.json("commands", *words)["commands"]
    return {
        (row["name"], row["kind"], row["origin"]) for row in rows if row["origin"] != "built-in"
    }


PROJECT = {("project:deploy", "command", "project"), ("review", "skill", "project")}
MINE = {("mine", "command", "user")}


def test_a_room_offers_what_the_project_has_and_not_what_stayed_outside(life: Life) -> None:
    run_id = life.detach()
    assert offered(life, run_id[:12]) == offered(life, "--workspace", life.workspace) == PROJECT
    assert "/project:deploy" in life.do("commands", run_id)
    assert "~/.claude" not in life.do("commands", run_id)


def test_a_fresh_room_offers_what_is_carried_into_it_as_the_run_then_does(life: Life) -> None:
    life.config('[seed]\ninclude = ["commands"]\n')
    before = offered(life, "--workspace", life.workspace)
    run_id = life.detach()
    assert before == offered(life, run_id) == PROJECT | MINE
    [mine] = [
        row
        for row in life.json("commands", "--workspace", life.workspace)["commands"]
        if row["origin"] == "user"
    ]
    assert mine["path"] == "~/.claude/commands/mine.md"


def test_where_nothing_is_it_says_so_and_where_nothing_can_be_as_well(
    life: Life, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    said = life.do("commands", "--workspace", tmp_path / "empty")
    assert {line.split()[2] for line in said.splitlines()} == {"built-in"}
    for words, status in (
        ([], 2),
        (["--workspace", tmp_path / "missing"], 66),
        (["nobody"], 2),
        (["nobody", "--workspace", tmp_path], 2),
    ):
        assert life.run("commands", *words).returncode == status


def test_the_address_is_from_the_runs_own_registry_else_the_lists_and_said_so(
    life: Life, tmp_path: Path
) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    browser.chmod(0o755)
    env = life.home.env | {"BROWSER": str(browser)}
    run_id = life.detach("--name", "talker")
    life.wait_prompt(run_id)
    registry = instance_of(locate(life.home.env), run_id).home / ".claude" / "sessions"
    # Its own entry, without an address: remote control is off in a room.
    wait_until(lambda: list(registry.glob("*.json")))
    done = life.run("open", "talker", env=env)
    assert (done.returncode, done.stdout) == (0, f"{SITE}\n")
    assert "this run has no address of its own" in done.stderr
    assert wait_until(lambda: _read(tmp_path / "opened")) == f"{SITE}\n"
    [entry] = registry.glob("*.json")
    document = json.loads(entry.read_bytes()) | {"bridgeSessionId": "cse_01Abc"}
    later = registry / "999999.json"
    later.write_text(json.dumps(document))
    os.utime(later, (4e9, 4e9))
    (tmp_path / "opened").unlink()
    done = life.run("open", "--print", run_id[:12], env=env)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{SITE}/session_01Abc\n", "")
    assert not (tmp_path / "opened").exists()
    life.do("stop", "talker")
    done = life.run("open", "talker")
    assert done.returncode == 2
    assert "no live run is called 'talker'" in done.stderr


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def test_the_agents_own_commands_are_those_of_the_pinned_version(
    life: Life,
) -> None:
    """As it tells itself, without a terminal; what it hides in its menu is left out here too."""
    hidden = {"__remote-workflow", "agents", "color", "heapdump", "workflow-launch-exec"}
    options = ("--output-format", "stream-json", "--verbose")
    done = life.start("--", "-p", "hi", *options)
    said = json.loads(done.stdout.splitlines()[0])["slash_commands"]
    rows = life.json("commands", "--workspace", life.home.home / ".claude")["commands"]
    own = {row["name"] for row in rows if row["origin"] == "built-in"}
    assert set(said) - hidden - {name for name, *_ in PROJECT} <= own
    assert {row["path"] for row in rows if row["name"] in own} == {None}


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_the_agents_own_commands_were_seen_with_the_pinned_version(
    toolchain: Toolchain, agent: str
) -> None:
    """Who changes the pins types a "/" in the agent's prompt, and lists what it shows."""
    document = json.loads((Path(common.__file__).parent / "built_in.json").read_bytes())
    assert document[agent]["version"] == toolchain.tools[agent].version
    assert document[agent]["commands"] == sorted(set(document[agent]["commands"]))
