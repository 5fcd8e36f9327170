"""Which credential is taken back from a room, and which is not."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from homeroom import adoption, provider
from homeroom.adoption import LostError, Places
from homeroom.config import Config
from homeroom.credential.secret import Credential, Secret
from homeroom.credential.vault import Vault, open_vault
from homeroom.errors import CredentialError, StateError
from homeroom.paths import locate
from homeroom.run import lock, record
from homeroom.run.record import Record
from tests.login.conftest import grant
from tests.support.tree import snapshot

RUN = f"run_{'a' * 32}"
RESCUED = "rescued-aaaaaaaa"


@dataclass
class Scene:
    """A master store with grant 1, and a room that had a copy of it.

    Attributes:
        root: Everything is below.
        origin: Where the grant is from.
        said: What the user was told.
    """

    root: Path
    origin: str
    said: list[str] = field(default_factory=list)

    @property
    def user(self) -> Path:
        return self.root / "user"

    @property
    def store(self) -> Path:
        return self.user / ".claude" / ".credentials.json"

    @property
    def room(self) -> Path:
        return self.root / "room"

    @property
    def places(self) -> Places:
        environ = {"HOME": str(self.user), "HOMEROOM_HOME": str(self.root / "r")}
        return Places(locate(environ), Config(), environ, self.user)

    @property
    def vault(self) -> Vault:
        return open_vault(self.places.paths, "file")

    def keep(self, number: int, *, hours: float = 1, account: str = "me") -> None:
        """Put a grant where the grant is from."""
        document = grant(number, hours=hours)
        if self.origin == "store":
            write(self.user, document, account)
        else:
            whole = Credential(
                "oauth",
                Secret(json.dumps(document)),
                "a test",
                json.dumps({"accountUuid": account}),
                float(str(document["expiresAt"])) / 1000,
            )
            self.vault.put("claude", "default", whole)

    def kept(self) -> str:
        """Tell the access token that is where the grant is from."""
        if self.origin == "store":
            document = json.loads(self.store.read_text())["claudeAiOauth"]
        else:
            found = self.vault.get("claude", "default")
            assert found
            document = json.loads(found.secret.reveal())
        token: str = document["accessToken"]
        return token

    def take_back(self) -> None:
        adapter = provider.get("claude")
        adoption.take_back(adapter, self.room, self.origin, RUN, self.places, self.said.append)


def write(home: Path, document: dict[str, object], account: str | None = "me") -> None:
    directory = home / ".claude"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = json.dumps({"other": "kept", "claudeAiOauth": document})
    (directory / ".credentials.json").write_text(text)
    state = directory / ".claude.json" if home.name == "room" else home / ".claude.json"
    state.write_text(json.dumps({"oauthAccount": {"accountUuid": account}} if account else {}))


@pytest.fixture(params=["store", "vault/default"])
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Scene:
    made = Scene(tmp_path, request.param)
    made.keep(1)
    return made


def access(number: int) -> str:
    return str(grant(number)["accessToken"])


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


def blanked(scene: Scene) -> None:
    write(scene.room, {"accessToken": "", "refreshToken": "", "expiresAt": 0})


def logged_out(scene: Scene) -> None:
    scene.room.mkdir()


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


def refuse_writing(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the place of the grant one that cannot be written to, for root as well."""

    def refuse(path: Path, content: bytes) -> None:
        del content
        raise PermissionError(13, "Permission denied", str(path))

    if scene.origin == "store":
        monkeypatch.setattr("homeroom.provider.common.replace_private", refuse, raising=False)
        monkeypatch.setattr("homeroom.files.replace_private", refuse)
    else:
        monkeypatch.setattr(Vault, "renew", lambda *_: (_ for _ in ()).throw(StateError("no")))


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


# --- after a crash -------------------------------------------------------------------------


def salvage(scene: Scene, given: int) -> None:
    adapter = provider.get("claude")
    of = a_record(RUN, Secret(str(grant(given)["refreshToken"])).digest(), scene.origin)
    adoption.salvage(adapter, scene.room, of, scene.places, scene.said.append)


def a_record(run_id: str, given: str | None, origin: str | None = "store") -> Record:
    return Record(
        run_id=run_id,
        provider="claude",
        workspace="/w",
        state="running",
        created=0.0,
        supervisor=1,
        grant=given,
        grant_from=origin if given else None,
    )


def test_a_sweep_saves_what_a_dead_run_renewed(scene: Scene) -> None:
    write(scene.room, grant(2, hours=9))
    salvage(scene, given=1)
    assert scene.kept() == access(2)


@pytest.mark.parametrize("left", [blanked, logged_out])
def test_a_sweep_says_nothing_of_a_room_that_renewed_nothing(
    scene: Scene, left: Callable[[Scene], None]
) -> None:
    left(scene)
    salvage(scene, given=1)
    write(scene.room, grant(1, hours=1))
    salvage(scene, given=1)
    assert scene.said == []
    assert scene.kept() == access(1)


def test_a_sweep_goes_on_after_a_rescue_and_keeps_a_room_that_cannot_be_rescued(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(scene.room, grant(2, hours=9))
    refuse_writing(scene, monkeypatch)
    salvage(scene, given=1)
    assert RESCUED in scene.said[0]
    monkeypatch.setattr(Vault, "put", lambda *_: (_ for _ in ()).throw(StateError("full")))
    with pytest.raises(LostError):
        salvage(scene, given=1)


# --- two rooms with one grant --------------------------------------------------------------


def test_living_runs_with_the_same_grant_are_found(tmp_path: Path) -> None:
    paths = locate({"HOMEROOM_HOME": str(tmp_path / "r")})
    paths.runs.mkdir(parents=True, mode=0o700)
    alive, other, dead, without, damaged_one = (f"run_{digit * 32}" for digit in "bcdef")
    for run_id, given in ((alive, "1"), (other, "2"), (dead, "1"), (without, None)):
        record.save(paths.runs / f"{run_id}.json", a_record(run_id, given))
    (paths.runs / f"{damaged_one}.json").write_text("{")
    held = [
        lock.try_acquire(paths.runs / f"{run_id}.lock")
        for run_id in (alive, other, without, damaged_one)
    ]
    try:
        assert adoption.holders(paths, "1", RUN) == [alive]
        assert adoption.holders(paths, "1", alive) == []
        assert adoption.holders(paths, "3", RUN) == []
    finally:
        for each in held:
            assert each
            each.release()


def test_the_digest_of_a_grant_is_of_what_renews_it() -> None:
    def of(document: object) -> str | None:
        return Credential("oauth", Secret(json.dumps(document)), "a test").grant()

    renewal = Secret("the-renewal").digest()
    assert of({"accessToken": "a", "refreshToken": "the-renewal"}) == renewal
    assert of({"tokens": {"access_token": "b", "refresh_token": "the-renewal"}}) == renewal
    assert of({"accessToken": "a", "refreshToken": None}) is None
    assert of({"tokens": {"refresh_token": ""}}) is None
    assert of({"tokens": ["the-renewal"]}) is None
    assert Credential("api-key", Secret("the-renewal"), "a test").grant() is None
