"""Which arguments can only fail in a room that is logged out: no other is ever refused."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from homeroom import provider
from homeroom.provider import Room, SeedFile
from homeroom.provider.values import Surfaces
from homeroom.workspace import Workspace


def room(tmp_path: Path) -> Room:
    work = tmp_path / "project" / "part"
    work.mkdir(parents=True, exist_ok=True)
    place = Workspace(work, tmp_path / "project", (), (work,))
    return Room(tmp_path / "home", place, "1.0.0", tmp_path / "cli")


def needs(
    agent: str,
    where: Room,
    arguments: Sequence[str],
    passed: Sequence[str] = (),
    seeds: Sequence[SeedFile] = (),
) -> bool:
    adapter = provider.get(agent)
    return adapter.needs_login(where, arguments, passed, (*seeds, *adapter.seed(where)))


@pytest.mark.parametrize("agent", provider.names())
def test_an_unattended_run_needs_a_login(agent: str, tmp_path: Path) -> None:
    assert needs(agent, room(tmp_path), provider.get(agent).unattended("fix the typo"))


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_settings_of_the_machines_administrator_may_let_it_in(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is in them: they need not be readable, nor what a link leads to."""
    managed = tmp_path / "managed.json"
    surfaces = Surfaces(machine=(str(managed),))
    monkeypatch.setattr(type(provider.get(agent)), "surfaces", lambda _: surfaces)
    words = provider.get(agent).unattended("fix the typo")
    assert needs(agent, room(tmp_path), words)
    managed.symlink_to(tmp_path / "nothing")
    assert not needs(agent, room(tmp_path), words)


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("claude", "-p|hi"),
        ("claude", "--print|hi"),
        ("claude", "-p|hi|--output-format=json"),
        ("claude", "--model|opus|-p|hi"),
        ("claude", "fix the typo|-p"),
        ("claude", "-p|--verbose|hi"),
        ("claude", "-p|--output-format=json|hi"),
        ("claude", "-p|--|hi"),
        ("claude", "-p|hi|--output-format|json"),
        ("codex", "exec|hi"),
        ("codex", "e|-m|some|hi"),
        ("codex", "exec|resume|--last|hi"),
        ("codex", "review|--uncommitted"),
    ],
)
def test_one_answer_needs_a_login(agent: str, words: str, tmp_path: Path) -> None:
    assert needs(agent, room(tmp_path), words.split("|"), passed=["DATABASE_URL"])


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        # What asks no model.
        ("claude", "--version"),
        ("claude", "-p|--help"),
        ("claude", "mcp|list"),
        ("claude", "mcp|add|x|--|npx|-p|y"),
        ("claude", "auth|status"),
        ("claude", "-p|/context"),
        ("codex", "exec|--help"),
        ("codex", "exec|help"),
        ("codex", "mcp|list"),
        ("codex", "login|status"),
        ("codex", "completion|bash"),
        # Who waits at a prompt can be logged in.
        ("claude", "hi"),
        ("codex", "hi"),
        ("codex", "resume|--last"),
        # Whatever comes on standard input may be for no model.
        ("claude", "-p"),
        ("claude", "-p|--output-format|json"),
        ("claude", "-p|--model|sonnet"),
        ("claude", "--model|sonnet|-p"),
        ("claude", "-p|--allowedTools|Read|Edit"),
        ("claude", "-p|--input-format|stream-json|--output-format|stream-json|--verbose"),
        ("claude", "-p|hi|--input-format=stream-json"),
        # What looks like the option may be the value of the one before.
        ("claude", "--append-system-prompt|-p|hi"),
        # Another model, or a way in of its own.
        ("claude", "-p|hi|--settings|mine.json"),
        ("codex", "exec|--oss|hi"),
        ("codex", "exec|-p|mine|hi"),
        ("codex", 'exec|-c|model_provider="mine"|hi'),
    ],
)
def test_what_may_work_logged_out_is_let_through(agent: str, words: str, tmp_path: Path) -> None:
    assert not needs(agent, room(tmp_path), words.split("|"))


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("claude", "ANTHROPIC_API_KEY"),
        ("claude", "ANTHROPIC_BASE_URL"),
        ("claude", "CLAUDE_CODE_USE_BEDROCK"),
        ("codex", "CODEX_API_KEY"),
        ("codex", "OPENAI_API_KEY"),
    ],
)
def test_a_variable_that_lets_it_in_is_enough(agent: str, name: str, tmp_path: Path) -> None:
    once = provider.get(agent).unattended("hi")
    assert not needs(agent, room(tmp_path), once, passed=[name])


CLAUDE_SETTINGS = json.dumps({"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}})
CODEX_SETTINGS = 'model_provider = "mine"\n'


@pytest.mark.parametrize(
    ("agent", "name", "text"),
    [
        ("claude", ".claude/settings.json", CLAUDE_SETTINGS),
        ("claude", ".claude/settings.local.json", '{"apiKeyHelper": "./key.sh"}'),
        ("codex", ".codex/config.toml", CODEX_SETTINGS),
    ],
)
def test_settings_that_let_it_in_are_enough(
    agent: str, name: str, text: str, tmp_path: Path
) -> None:
    """In the workspace, at the top of its project, or carried into the room."""
    where, once = room(tmp_path), provider.get(agent).unattended("hi")
    for at in (where.workspace.directory, where.workspace.root):
        file = at / name
        file.parent.mkdir(parents=True)
        file.write_text("")
        assert needs(agent, where, once), "an empty file says nothing"
        file.write_text(text)
        assert not needs(agent, where, once)
        file.unlink()
    assert not needs(agent, where, once, seeds=[SeedFile(name, content=text.encode())])


@pytest.mark.parametrize(
    ("agent", "name"), [("claude", ".claude/settings.json"), ("codex", ".codex/config.toml")]
)
def test_settings_that_cannot_be_read_may_say_anything(
    agent: str, name: str, tmp_path: Path
) -> None:
    where = room(tmp_path)
    (where.workspace.directory / name).mkdir(parents=True)
    assert not needs(agent, where, provider.get(agent).unattended("hi"))
