"""The adapter for Claude Code, as far as files show it: the CLI itself runs elsewhere."""

import itertools
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeroom import provider
from homeroom.credential.secret import Credential, Secret
from homeroom.errors import StateError, StorageError, UsageError
from homeroom.provider.claude import Claude
from homeroom.provider.values import Room
from tests.core.provider_claude.scene import (
    ACCESS,
    ACCOUNT,
    CREDENTIALS,
    GRANT,
    KEY,
    KINDS,
    REFRESH,
    STATE,
    contents,
    json_values,
    load,
    room_in,
    seed,
)
from tests.support.tree import snapshot


def test_the_agent_is_known_by_name_and_no_other_is_guessed() -> None:
    assert isinstance(provider.get("claude"), Claude)
    with pytest.raises(UsageError, match="no agent 'Claude'") as told:
        provider.get("Claude")
    assert "claude" in (told.value.hint or "")


def test_a_seeded_room_answers_every_first_question(room: Room) -> None:
    seed(room)
    state = load(room.home / STATE)
    assert state["hasCompletedOnboarding"] is True
    assert state["lastOnboardingVersion"] == "2.1.332"
    assert state["theme"]
    assert state["autoUpdates"] is False
    for root in ("/w/sub", "/w"):
        assert state["projects"][root] == {"hasTrustDialogAccepted": True, "allowedTools": []}
    assert Claude().health_check(room) is None


def test_seeding_is_decided_before_anything_exists(tmp_path: Path) -> None:
    before = snapshot(tmp_path)
    assert Claude().seed(room_in(tmp_path / "nothing"))
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("home", ["", ".", "relative", "/nonexistent/home"])
def test_without_a_room_nothing_is_injected_anywhere(
    user: Path, monkeypatch: pytest.MonkeyPatch, kind: str, home: str
) -> None:
    before = snapshot(user)
    monkeypatch.chdir(user)
    monkeypatch.setattr(os.path, "expanduser", lambda _: str(user))
    with pytest.raises(StateError, match="no room"):
        Claude().inject(room_in(Path(home)), KINDS[kind])
    assert snapshot(user) == before
    monkeypatch.undo()


@pytest.mark.parametrize("kind", KINDS)
def test_seeding_and_injecting_may_come_in_any_order_and_again(tmp_path: Path, kind: str) -> None:
    results = []
    steps: list[Callable[[Room], object]] = [
        seed,
        lambda room: Claude().inject(room, KINDS[kind]),
    ]
    for number, order in enumerate(
        (*itertools.permutations(steps), (*steps, *steps), (*reversed(steps), *steps))
    ):
        home = tmp_path / str(number)
        home.mkdir()
        for step in order:
            step(room_in(home))
        results.append(contents(home))
    assert all(result == results[0] for result in results)


@given(
    foreign=st.dictionaries(st.text(max_size=8), json_values, max_size=4),
    kind=st.sampled_from(sorted(KINDS)),
)
def test_keys_that_are_not_homerooms_are_kept(
    tmp_path_factory: pytest.TempPathFactory, foreign: dict[str, Any], kind: str
) -> None:
    room = room_in(tmp_path_factory.mktemp("room"))
    (room.home / ".claude").mkdir(mode=0o700)
    theirs = {f"x{name}": value for name, value in foreign.items()}
    for path in (STATE, CREDENTIALS):
        (room.home / path).write_text(json.dumps(theirs))
    seed(room)
    Claude().inject(room, KINDS[kind])
    for path in (STATE, CREDENTIALS):
        found = load(room.home / path)
        assert {name: found[name] for name in theirs} == theirs


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff", b"null", b"[" * 100_000])
def test_a_file_of_the_room_that_cannot_be_merged_is_named_and_kept(
    room: Room, content: bytes
) -> None:
    (room.home / ".claude").mkdir(mode=0o700)
    (room.home / CREDENTIALS).write_bytes(content)
    with pytest.raises(StorageError) as told:
        Claude().inject(room, KINDS["oauth"])
    assert str(room.home / CREDENTIALS) in told.value.message
    assert (room.home / CREDENTIALS).read_bytes() == content


def test_a_symlink_in_the_room_is_not_followed(room: Room, user: Path) -> None:
    (room.home / ".claude").symlink_to(user / ".claude")
    before = snapshot(user)
    with pytest.raises(StateError, match="is a symlink"):
        Claude().inject(room, KINDS["oauth"])
    (room.home / ".claude").unlink()
    (room.home / ".claude").mkdir(mode=0o700)
    (room.home / CREDENTIALS).symlink_to(user / CREDENTIALS)
    with pytest.raises(StorageError, match="is a symlink"):
        Claude().inject(room, KINDS["oauth"])
    assert snapshot(user) == before


@pytest.mark.parametrize("kind", KINDS)
def test_no_refresh_token_is_anywhere_in_a_room(room: Room, user: Path, kind: str) -> None:
    credential = Claude().discover({}, user) if kind == "oauth" else KINDS[kind]
    assert credential is not None
    seed(room)
    carried = Claude().inject(room, credential)
    everything = b"".join(path.read_bytes() for path in room.home.rglob("*") if path.is_file())
    assert REFRESH.encode() not in everything
    assert REFRESH not in [value.reveal() for value in carried.values()]


def test_a_grant_keeps_everything_but_its_renewal(room: Room) -> None:
    carried = Claude().inject(room, KINDS["oauth"])
    assert carried == {}
    assert load(room.home / CREDENTIALS) == {"claudeAiOauth": GRANT | {"refreshToken": None}}
    assert load(room.home / STATE) == {"oauthAccount": ACCOUNT}


def test_a_grant_that_says_nothing_of_renewal_says_null(room: Room) -> None:
    grant = {key: value for key, value in GRANT.items() if key != "refreshToken"}
    Claude().inject(room, Credential("oauth", Secret(json.dumps(grant)), "a file"))
    assert load(room.home / CREDENTIALS)["claudeAiOauth"]["refreshToken"] is None


def test_a_key_is_approved_by_its_end_and_carried_in_a_variable_alone(room: Room) -> None:
    carried = Claude().inject(room, KINDS["api-key"])
    assert carried == {"ANTHROPIC_API_KEY": Secret(KEY)}
    assert load(room.home / STATE)["customApiKeyResponses"] == {
        "approved": [KEY[-20:]],
        "rejected": [],
    }
    assert KEY not in (room.home / STATE).read_text()


def test_a_long_lived_token_is_carried_in_a_variable_alone(room: Room) -> None:
    carried = Claude().inject(room, KINDS["token"])
    assert carried == {"CLAUDE_CODE_OAUTH_TOKEN": Secret(ACCESS)}
    assert contents(room.home) == {}


def test_the_users_login_is_found_and_not_touched(user: Path) -> None:
    before = snapshot(user)
    found = Claude().discover({}, user)
    assert snapshot(user) == before
    assert found is not None
    assert found.kind == "oauth"
    assert json.loads(found.secret.reveal()) == GRANT
    assert found.source == str(user / CREDENTIALS)
    assert json.loads(found.account or "") == ACCOUNT
    assert found.expires_at == 4102444800


def test_what_is_found_shows_no_secret(user: Path) -> None:
    found = Claude().discover({}, user)
    assert found is not None
    shown = f"{found} {found!r} {[found]} {msgspec.structs.asdict(found)}"
    assert ACCESS not in shown
    assert REFRESH not in shown
    with pytest.raises(TypeError):
        pickle.dumps(found)
    assert set(found.values()) == {ACCESS, REFRESH}
