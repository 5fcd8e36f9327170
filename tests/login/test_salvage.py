"""Grants of runs that died, and of runs that share one."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from homeroom import adoption, aftermath, home, memory, provider
from homeroom.adoption import LostError
from homeroom.credential.secret import Credential, Secret
from homeroom.credential.vault import Vault
from homeroom.errors import StateError
from homeroom.paths import locate
from homeroom.run import lock, record
from homeroom.run.record import Record
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


@pytest.fixture(params=["store", "vault/default"])
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Scene:
    made = Scene(tmp_path, request.param)
    made.keep(1)
    return made


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


def test_a_sweep_saves_it_from_a_room_in_memory_as_well(scene: Scene) -> None:
    write(scene.room, grant(2, hours=9))
    place = scene.root / "memory"
    place.mkdir(0o700)
    paths = scene.places.paths
    memory.remember(paths, place)
    instance = home.instance_of(paths, RUN, place)
    home.materialize(instance)
    shutil.copytree(scene.room, instance.home, dirs_exist_ok=True)
    paths.runs.mkdir(0o700)
    given = Secret(str(grant(1)["refreshToken"])).digest()
    record.save(paths.runs / f"{RUN}.json", a_record(RUN, given, scene.origin))
    aftermath.sweep_dead(paths, places=scene.places, tell=scene.said.append, only=RUN)
    assert scene.kept() == access(2)
    assert not instance.root.exists()
    assert record.read(paths.runs / f"{RUN}.json").state == "crashed"


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
