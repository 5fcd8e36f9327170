"""The adapter for Claude Code, as far as files show it: the CLI itself runs elsewhere."""

import json
from pathlib import Path

import pytest

from homeroom.errors import CredentialError
from homeroom.provider.claude import Claude
from homeroom.provider.values import Room
from homeroom.trash import remove_trees
from tests.core.kinds import dig
from tests.core.provider_claude.scene import (
    ACCESS,
    ACCOUNT,
    CORRUPT,
    CREDENTIALS,
    GRANT,
    REFRESH,
    seed,
)
from tests.support.tree import snapshot


@pytest.mark.parametrize(
    "grant",
    [
        None,
        {},
        {"accessToken": "", "refreshToken": "", "expiresAt": 0},
        {"accessToken": None},
        "text",
        [],
    ],
)
def test_a_logged_out_stub_is_no_login(user: Path, grant: object) -> None:
    (user / CREDENTIALS).write_text(json.dumps({"claudeAiOauth": grant}))
    assert Claude().discover({}, user) is None


def test_someone_who_never_logged_in_has_no_login(tmp_path: Path) -> None:
    assert Claude().discover({}, tmp_path) is None
    assert Claude().discover({}, tmp_path / "nothing") is None


@pytest.mark.parametrize("state", [None, "{}", '{"oauthAccount": null}', '{"oauthAccount": 1}'])
def test_a_login_without_a_remembered_account_will_do(user: Path, state: str | None) -> None:
    if state is None:
        (user / ".claude.json").unlink()
    else:
        (user / ".claude.json").write_text(state)
    found = Claude().discover({}, user)
    assert found is not None
    assert found.account is None


@pytest.mark.parametrize(
    ("moved", "credentials", "state"),
    [
        ({"CLAUDE_CONFIG_DIR": "{}/other"}, "other/.credentials.json", "other/.claude.json"),
        ({"CLAUDE_SECURESTORAGE_CONFIG_DIR": "{}/s"}, "s/.credentials.json", ".claude.json"),
        ({"CLAUDE_CONFIG_DIR": ""}, CREDENTIALS, ".claude.json"),
    ],
)
def test_a_store_that_was_moved_is_found_and_named(
    tmp_path: Path, moved: dict[str, str], credentials: str, state: str
) -> None:
    environ = {name: value.format(tmp_path) for name, value in moved.items()}
    for path in (credentials, state):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / credentials).write_text(json.dumps({"claudeAiOauth": GRANT}))
    (tmp_path / state).write_text(json.dumps({"oauthAccount": ACCOUNT}))
    found = Claude().discover(environ, tmp_path)
    assert found is not None
    assert found.source == str(tmp_path / credentials)
    assert found.account is not None
    store = Claude().master_store(environ, tmp_path)
    assert {tmp_path / credentials, tmp_path / state} <= set(store.secrets)
    for secret in store.secrets:
        assert any(secret.is_relative_to(root) for root in store.roots)
    assert tmp_path / ".claude" in store.roots


@pytest.mark.parametrize("kind", CORRUPT)
@pytest.mark.parametrize("which", ["credentials", "state"])
def test_a_corrupt_store_is_named_and_left_alone(tmp_path: Path, which: str, kind: str) -> None:
    (tmp_path / "own").mkdir()
    environ = {
        "CLAUDE_CONFIG_DIR": str(tmp_path / "own"),
        "CLAUDE_SECURESTORAGE_CONFIG_DIR": str(tmp_path / "secure"),
    }
    (tmp_path / "secure").mkdir()
    credentials, state = tmp_path / "secure/.credentials.json", tmp_path / "own/.claude.json"
    broken = {"credentials": credentials, "state": state}[which]
    if which == "state":
        credentials.write_text(json.dumps({"claudeAiOauth": GRANT}))
    CORRUPT[kind](broken)
    before = snapshot(tmp_path, contents=False)
    with pytest.raises(CredentialError) as told:
        Claude().discover(environ, tmp_path)
    assert snapshot(tmp_path, contents=False) == before
    assert str(broken) in told.value.message
    assert told.value.hint
    error: BaseException | None = told.value
    while error is not None:
        assert ACCESS not in f"{error!r}"
        assert REFRESH not in f"{error!r} {getattr(error, 'doc', '')}"
        error = None if error.__suppress_context__ else error.__context__


@pytest.mark.parametrize("expires", ["soon", -1, float("inf"), float("nan"), 10**400, [], 1e300])
def test_an_expiry_that_is_no_time_is_named(user: Path, expires: object) -> None:
    (user / CREDENTIALS).write_text(json.dumps({"claudeAiOauth": GRANT | {"expiresAt": expires}}))
    with pytest.raises(CredentialError) as told:
        Claude().discover({}, user)
    assert str(user / CREDENTIALS) in told.value.message


def test_transcripts_are_found_wherever_the_agent_keeps_them(room: Room) -> None:
    projects = room.home / ".claude/projects"
    names = ["-w/a.jsonl", "-w/a/subagents/b.jsonl", "-x/c.jsonl"]
    for name in (*names, "-w/notes.txt", "-w/memory/MEMORY.md"):
        (projects / name).parent.mkdir(parents=True, exist_ok=True)
        (projects / name).touch()
    assert Claude().transcripts(room.home) == sorted(projects / name for name in names)


def test_a_room_without_transcripts_has_none(room: Room) -> None:
    assert Claude().transcripts(room.home) == []
    seed(room)
    assert Claude().transcripts(room.home) == []


def test_no_tree_that_an_agent_digs_keeps_transcripts_from_being_found(
    room: Room, user: Path
) -> None:
    projects = room.home / ".claude/projects"
    (projects / "-w").mkdir(parents=True)
    (projects / "-w/a.jsonl").touch()
    (projects / "loop").symlink_to("..")
    (projects / "out").symlink_to(user)
    (user / "x.jsonl").touch()
    (projects / "deep").mkdir()
    dig(projects / "deep", 1200)
    try:
        assert Claude().transcripts(room.home) == [projects / "-w/a.jsonl"]
    finally:
        remove_trees(projects / "deep")


def test_transcripts_behind_a_symlink_are_none(room: Room, user: Path) -> None:
    (user / "p/-w").mkdir(parents=True)
    (user / "p/-w/a.jsonl").touch()
    (room.home / ".claude").mkdir()
    (room.home / ".claude/projects").symlink_to(user / "p")
    assert Claude().transcripts(room.home) == []


def test_the_environment_pins_the_room_and_switches_updates_off(room: Room) -> None:
    values = Claude().environment(room)
    assert values["CLAUDE_CONFIG_DIR"] == str(room.home / ".claude")
    assert values["DISABLE_AUTOUPDATER"] == "1"
    assert "ANTHROPIC_BASE_URL" not in values
    assert not [value for value in values.values() if not value]


def test_the_token_host_stays_out_so_that_no_grant_rotates(room: Room) -> None:
    hosts = Claude().needs(room).hosts
    assert hosts
    assert not [host for host in hosts if "platform" in host or "console" in host]


def test_the_arguments_are_the_users_own(room: Room) -> None:
    words = ["-p", "", "a b", "--", "--version"]
    assert list(Claude().command(room, words)) == ["/tools/claude", *words]


def test_the_demos_credential_is_worth_nothing_and_opens_no_dialog(room: Room) -> None:
    demo = Claude().demo_credential()
    assert "demo" in demo.secret.reveal()
    assert Claude().inject(room, demo)
