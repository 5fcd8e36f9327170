"""Which credential is taken back from a room, and which is not."""

import base64
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from homeroom import adoption, provider
from homeroom.adoption import LostError
from homeroom.credential.secret import Credential
from homeroom.credential.vault import Vault
from homeroom.errors import CredentialError, StateError
from tests.login.conftest import grant
from tests.login.scene import (
    RESCUED,
    RUN,
    Scene,
    access,
    blanked,
    logged_out,
    refuse_writing,
    write,
)
from tests.support.tree import snapshot


@pytest.fixture(params=["store", "vault/default"])
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Scene:
    made = Scene(tmp_path, request.param)
    made.keep(1)
    return made


def test_a_renewed_grant_goes_back_to_where_it_came_from(scene: Scene) -> None:
    write(scene.room, grant(2, hours=9))
    scene.take_back()
    assert scene.kept() == access(2)
    assert len(scene.said) == 1
    assert "renewed its login" in scene.said[0]


def test_what_else_the_store_holds_stays(scene: Scene) -> None:
    write(scene.room, grant(2, hours=9))
    scene.take_back()
    if scene.origin == "store":
        assert json.loads(scene.store.read_text())["other"] == "kept"
        assert os.stat(scene.store).st_mode & 0o777 == 0o600


def test_a_grant_whose_access_token_has_run_out_since_can_still_be_the_newest(
    scene: Scene,
) -> None:
    scene.keep(1, hours=-9)
    write(scene.room, grant(2, hours=-1))
    scene.take_back()
    assert scene.kept() == access(2)


def damaged(scene: Scene) -> None:
    blanked(scene)
    (scene.room / ".claude" / ".credentials.json").write_bytes(b'{"claudeAiOauth": {"acc\xff')


def no_time(scene: Scene) -> None:
    write(scene.room, {**grant(2), "expiresAt": "soon"})


def without_renewal(scene: Scene) -> None:
    write(scene.room, {**grant(2, hours=9), "refreshToken": None})


def symlinked(scene: Scene) -> None:
    blanked(scene)
    path = scene.room / ".claude" / ".credentials.json"
    path.unlink()
    elsewhere = scene.root / "elsewhere.json"
    elsewhere.write_text(json.dumps({"claudeAiOauth": grant(2, hours=9)}))
    path.symlink_to(elsewhere)


def another_account(scene: Scene) -> None:
    write(scene.room, grant(2, hours=9), "somebody else")


def nameless_account(scene: Scene) -> None:
    write(scene.room, grant(2, hours=9), None)


def older(scene: Scene) -> None:
    write(scene.room, grant(2, hours=0.5))


def beaten_by_a_newer_master(scene: Scene) -> None:
    write(scene.room, grant(2, hours=9))
    scene.keep(1, hours=10)


@pytest.mark.parametrize(
    "left",
    [
        blanked,
        logged_out,
        damaged,
        no_time,
        without_renewal,
        symlinked,
        another_account,
        nameless_account,
        older,
        beaten_by_a_newer_master,
    ],
)
def test_anything_else_changes_nothing_and_is_told(
    scene: Scene, left: Callable[[Scene], None]
) -> None:
    left(scene)
    before = snapshot(scene.user), scene.kept()
    scene.take_back()
    assert (snapshot(scene.user), scene.kept()) == before
    assert len(scene.said) == 1
    assert "was not touched" in scene.said[0]


def test_a_store_that_is_gone_meanwhile_is_not_made_again(scene: Scene) -> None:
    write(scene.room, grant(2, hours=9))
    if scene.origin == "store":
        scene.store.unlink()
    else:
        scene.vault.delete("claude", "default")
    scene.take_back()
    assert "was not touched" in scene.said[0]
    assert not scene.store.exists()
    assert scene.vault.entries() == ()


def test_a_grant_that_cannot_go_back_is_rescued_and_that_is_loud(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(scene.room, grant(2, hours=9))
    refuse_writing(scene, monkeypatch)
    with pytest.raises(CredentialError, match=f"is kept in .* as profile {RESCUED}") as caught:
        scene.take_back()
    assert f"--profile {RESCUED}" in str(caught.value.hint)
    assert "sk-ant" not in f"{caught.value.message}{caught.value.hint}"
    assert scene.kept() == access(1)
    found = scene.vault.get("claude", RESCUED)
    assert found
    assert json.loads(found.secret.reveal())["accessToken"] == access(2)


def test_a_grant_that_can_be_kept_nowhere_is_louder_still(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(scene.room, grant(2, hours=9))
    refuse_writing(scene, monkeypatch)
    monkeypatch.setattr(Vault, "put", lambda *_: (_ for _ in ()).throw(StateError("full")))
    with pytest.raises(LostError, match="nor could it be kept") as caught:
        scene.take_back()
    assert "run `homeroom login claude`" in str(caught.value.hint)


@pytest.mark.parametrize(("account", "kept"), [("me", "renewal-2"), ("other", "renewal-1")])
def test_the_other_agent_names_its_account_in_its_own_way(
    tmp_path: Path, account: str, kept: str
) -> None:
    scene = Scene(tmp_path, "vault/default")
    adapter = provider.get("codex")

    def left(number: int, whose: str) -> Credential:
        claims = json.dumps({"exp": 2_000_000_000 + number}).encode()
        tokens = {
            "access_token": f"e30.{base64.urlsafe_b64encode(claims).decode().rstrip('=')}.x",
            "refresh_token": f"renewal-{number}",
            "account_id": whose,
        }
        directory = scene.room / ".codex"
        directory.mkdir(parents=True, exist_ok=True)
        document = {"auth_mode": "chatgpt", "OPENAI_API_KEY": None, "tokens": tokens}
        (directory / "auth.json").write_text(json.dumps(document))
        found = adapter.collect(scene.room)
        assert found
        return found

    scene.vault.put("codex", "default", left(1, "me"))
    left(2, account)
    adoption.take_back(adapter, scene.room, scene.origin, RUN, scene.places, scene.said.append)
    found = scene.vault.get("codex", "default")
    assert found
    assert json.loads(found.secret.reveal())["tokens"]["refresh_token"] == kept
