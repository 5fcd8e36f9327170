"""Secrets of a run whose supervisor died: in nothing that a sweep keeps."""

import json
from pathlib import Path

import pytest

from homeroom.files import create_private
from homeroom.home import instance_of
from homeroom.paths import locate
from tests.life.conftest import Life
from tests.life.scene import Scene

KEY = "my-gateway-key-ABCDEF0123456789"


def dead(scene: Scene, secrets: bytes | None) -> tuple[str, Path]:
    """Make a run that died when its agent had written its key into its transcript."""
    run_id = scene.begin()
    instance = instance_of(scene.paths, run_id)
    talk = Path(".claude/projects/x/talk.jsonl")
    (instance.home / talk).write_text(json.dumps({"said": KEY}))
    if secrets is not None:
        create_private(instance.secrets, secrets)
    scene.age()
    return run_id, scene.paths.transcripts / run_id / talk


def test_what_came_through_the_environment_is_replaced(scene: Scene) -> None:
    _, kept = dead(scene, json.dumps([KEY]).encode())
    assert scene.main("sweep") == 0
    assert json.loads(kept.read_text()) == {"said": "[redacted]"}


@pytest.mark.parametrize("damage", [b"", b"[", b"1", b"\xff"])
def test_where_nobody_knows_the_secrets_nothing_is_kept(scene: Scene, damage: bytes) -> None:
    run_id, kept = dead(scene, damage)
    assert scene.main("sweep") == 0
    assert scene.is_gone(run_id)
    assert not kept.exists()


def test_a_live_run_has_them_where_it_cannot_read_them(slow: Life) -> None:
    slow.home.env["GATEWAY"] = KEY
    run_id = slow.detach("--api-key-env", "GATEWAY")
    found = instance_of(locate(slow.home.env), run_id).secrets
    assert KEY in json.loads(found.read_bytes())
    assert found.stat().st_mode & 0o777 == 0o600
    slow.do("stop", run_id)
    assert not found.exists()
