"""Fixtures of the tests of provider claude."""

import json
import os
import stat
from pathlib import Path

import pytest

from homeroom.provider.claude import Claude
from homeroom.provider.values import Room
from tests.core.provider_claude.scene import ACCOUNT, CREDENTIALS, GRANT, KINDS, room_in, seed
from tests.support.tree import snapshot


@pytest.fixture
def room(tmp_path: Path) -> Room:
    (tmp_path / "room").mkdir(mode=0o700)
    return room_in(tmp_path / "room")


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """The user's own home, logged in."""
    home = tmp_path / "user"
    (home / ".claude").mkdir(parents=True)
    (home / CREDENTIALS).write_text(json.dumps({"claudeAiOauth": GRANT, "mcpOAuth": {"x": 1}}))
    (home / ".claude.json").write_text(json.dumps({"oauthAccount": ACCOUNT, "numStartups": 7}))
    return home


@pytest.mark.usefixtures("open_umask")
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_was_never_open_to_anyone(
    room: Room, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    made: list[int] = []
    real_open = os.open

    def traced(path: str | Path, flags: int, bits: int = 0o777, **more: int) -> int:
        descriptor = real_open(path, flags, bits, **more)
        if flags & os.O_CREAT:
            made.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return descriptor

    monkeypatch.setattr(os, "open", traced)
    seed(room)
    Claude().inject(room, KINDS[kind])
    monkeypatch.undo()
    assert made
    assert set(made) == {0o600}
    for entry in snapshot(room.home).values():
        assert entry.mode == (0o700 if entry.kind == "directory" else 0o600)
