"""Logins of the real Claude Code, with a vendor on this machine."""

import json
import re
from typing import Any

import pytest

from tests.login.conftest import KEY, User, grant_text
from tests.login.vendor import Vendor
from tests.support.terminal import Terminal
from tests.support.tree import snapshot

TOKENS = "/v1/oauth/token"
ACCOUNT = "11111111-2222-4333-8444-555555555555"
FRESH = {
    "token_type": "Bearer",
    "access_token": "sk-ant-oat01-fresh-access-0123456789",
    "refresh_token": "sk-ant-ort01-fresh-refresh-0123456789",
    "expires_in": 28800,
    "scope": "user:inference user:profile",
    "account": {"uuid": ACCOUNT, "email_address": "me@example.invalid"},
    "organization": {"uuid": "22222222-2222-4333-8444-555555555555", "name": "Test"},
}


@pytest.fixture
def vendor(vendor: Vendor) -> Vendor:
    """One that gives tokens to everybody, and knows one account."""
    vendor.status = 404
    profile = {
        "account": {"uuid": ACCOUNT, "email": "me@example.invalid", "display_name": "Me"},
        "organization": {"uuid": "22222222-2222-4333-8444-555555555555"},
    }
    vendor.answers = {TOKENS: FRESH, "/api/oauth/profile": profile}
    return vendor


def kept(user: User) -> dict[str, Any]:
    path = user.state / "vault" / "files" / "claude" / "default.json"
    document: dict[str, Any] = json.loads(path.read_text())
    return document


def asked(vendor: Vendor, path: str) -> list[str]:
    return [head for head in vendor.requests if head.split(" ")[1].startswith(path)]


def adopt(user: User, *, hours: float) -> None:
    """Put grant 1 of the account into the vault."""
    user.log_in_to_the_agent(grant_text(1, hours=hours), ACCOUNT)
    done = user.run("login", "--adopt")
    assert done.returncode == 0, done.stderr


def test_its_own_login_ends_in_the_vault(ready_user: User, vendor: Vendor) -> None:
    user = ready_user.at(vendor)
    before = snapshot(user.home.home)
    with Terminal() as terminal:
        argv = user.argv("login")
        terminal.start(argv, env=user.home.env, cwd=user.workspace, size=(200, 30))
        terminal.wait_for("Paste code here")
        terminal.write("a-code#a-state")
        # What is pasted comes in one piece, and the key after it as another.
        terminal.wait_for("a-code#a-state")
        terminal.send("Enter")
        assert terminal.wait_exit() == 0
        screen = terminal.wait_for("logged in to claude, profile default: oauth")
    assert "sk-ant" not in screen
    assert snapshot(user.home.home) == before
    assert json.loads(kept(user)["secret"])["refreshToken"] == FRESH["refresh_token"]
    assert json.loads(kept(user)["account"])["accountUuid"] == ACCOUNT
    assert user.run("login", "--status").returncode == 0


def test_after_a_login_it_opens_at_its_prompt_and_its_vendor_sees_the_key(
    ready_user: User, vendor: Vendor
) -> None:
    user = ready_user.at(vendor)
    assert user.run("login", "--api-key", "--offline", stdin=KEY).returncode == 0
    with Terminal() as terminal:
        terminal.start(user.argv("start"), env=user.home.env, cwd=user.workspace)
        screen = terminal.wait_for(re.compile("^\u276f", re.MULTILINE))
        assert not re.search("trust|log in|theme|API key", screen, re.IGNORECASE)
        terminal.write("hello")
        terminal.send("Enter")
        terminal.wait_for("issue with the selected model")
        terminal.send("C-c", "C-c")
        terminal.wait_exit()
    (message,) = asked(vendor, "/v1/messages?")[:1]
    assert f"x-api-key: {KEY}" in message


def test_it_renews_an_expired_grant_where_it_may_and_the_vault_has_the_new_one(
    ready_user: User, vendor: Vendor
) -> None:
    user = ready_user.at(vendor)
    adopt(user, hours=-1)
    own = snapshot(user.store.parent)
    user.configure('run.credentials = "full"')
    done = user.run("start", "--", "-p", "hello")
    assert len(asked(vendor, TOKENS)) == 1
    assert "the new one is in homeroom's vault, profile default" in done.stderr
    renewed = json.loads(kept(user)["secret"])
    assert renewed["accessToken"] == FRESH["access_token"]
    assert renewed["refreshToken"] == FRESH["refresh_token"]
    assert snapshot(user.store.parent) == own


def test_it_renews_nothing_where_its_room_has_an_access_token_alone(
    ready_user: User, vendor: Vendor
) -> None:
    user = ready_user.at(vendor)
    adopt(user, hours=-1)
    before = kept(user)
    done = user.run("start", "--", "-p", "hello")
    assert "has expired" in done.stderr
    assert asked(vendor, TOKENS) == []
    assert kept(user) == before
