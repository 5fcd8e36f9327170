"""A room is a room: nothing is read or written but what is in it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from homeroom import environment
from homeroom.errors import HomeroomError, StateError
from homeroom.provider import Room
from homeroom.provider.common import apply
from homeroom.testing.contract.base import PREFERENCES, AdapterTest, holding, refuses, texts
from homeroom.testing.samples import SESSION, write_files
from homeroom.testing.tree import Snapshot, changes, snapshot
from homeroom.testing.watch import watched

_OUTSIDE = "kit-outside"
_SHOW = "import json, os; print(json.dumps(dict(os.environ)))"


class Isolation(AdapterTest):
    """By construction: every function is told the home, and none falls back."""

    def test_an_empty_home_holds_nothing(self, tmp_path: Path) -> None:
        """Each read of a home in which nothing is misses, while the user has everything."""
        user, room = self.full_user_home(tmp_path), self.room(tmp_path)
        with self.as_user(user), watched(room.home) as watch:
            self._assert_all_miss(room)
        assert watch.touched_below(user) == [], "the user's own store was looked at"

    def test_a_home_that_is_not_there_holds_nothing(self, tmp_path: Path) -> None:
        """A missing, an empty and a relative home miss, even where the user's own is."""
        user = self.full_user_home(tmp_path)
        work = tmp_path / "work"
        work.mkdir()
        with self.as_user(user), watched(tmp_path / "nothing") as watch:
            for home in _no_homes(tmp_path):
                self._assert_all_miss(self.planned_room(home, work))
        assert watch.touched_below(user) == [], "the user's own store was looked at"

    def test_a_home_that_is_not_there_takes_no_write(self, tmp_path: Path) -> None:
        """Each write refuses by StateError, and nothing is written anywhere."""
        user, work = self.full_user_home(tmp_path), tmp_path / "work"
        work.mkdir()
        credentials = self.credentials(tmp_path)
        assert credentials, "no sample of a credential"
        before = snapshot(tmp_path)
        with self.as_user(user):
            for home in _no_homes(tmp_path):
                room = self.planned_room(home, work)
                for credential in credentials:
                    with refuses(StateError, f"inject {credential.kind} into {str(home)!r}"):
                        self.provider().inject(room, credential)
                for seed in self.provider().seed(room):
                    with refuses(StateError, f"write {seed.path} into {str(home)!r}"):
                        apply(home, seed)
        assert changes(before, snapshot(tmp_path)) == []

    def test_nothing_outside_the_home_changes(self, tmp_path: Path) -> None:
        """Planning, furnishing and reading leave the user's home and the workspace alone."""
        user, room = self.full_user_home(tmp_path), self.room(tmp_path, full_credentials=True)
        credentials = self.credentials(tmp_path)
        before = _without(snapshot(tmp_path), "home")
        environ = {"HOME": str(user)}
        with self.as_user(user):
            provider = self.provider()
            provider.master_store(environ, user)
            provider.discover(environ, user)
            for seed in provider.preferences(environ, user, PREFERENCES, hooks=True):
                apply(room.home, seed)
            self.seed(room)
            for credential in credentials:
                provider.inject(room, credential)
            self._read_everything(room)
        assert changes(before, _without(snapshot(tmp_path), "home")) == []
        assert texts(room.home), "nothing was written into the room either"

    def test_no_write_follows_a_symlink_out_of_the_room(self, tmp_path: Path) -> None:
        """Where an agent put a symlink in a file's or directory's place, nothing goes through."""
        room = self.room(tmp_path, full_credentials=True)
        credentials = self.credentials(tmp_path)
        self.seed(room)
        for credential in credentials:
            self.provider().inject(room, credential)
        assert texts(room.home)
        for at, name in enumerate(sorted(snapshot(room.home))[1:]):
            trap = self.room(tmp_path, f"trap-{at}", full_credentials=True)
            outside = _plant(trap.home, name, room.home, tmp_path / f"outside-{at}")
            before = snapshot(outside)
            with contextlib.suppress(HomeroomError):
                self.seed(trap)
            for credential in credentials:
                with contextlib.suppress(HomeroomError):
                    self.provider().inject(trap, credential)
            assert changes(before, snapshot(outside)) == [], f"written through {name}"
            assert holding(texts(trap.home), [_OUTSIDE]) == [], f"{name} was brought in"

    def test_no_read_follows_a_symlink_out_of_the_room(self, tmp_path: Path) -> None:
        """An agent that puts the user's store in the place of its own gives nothing away."""
        user = self.full_user_home(tmp_path)
        full = self.room(tmp_path, full_credentials=True)
        for credential in self.credentials(tmp_path):
            self.provider().inject(full, credential)
        left = {path: "\n".join(self.transcript) for path in self.transcripts.values()}
        write_files(full.home, left | dict.fromkeys(self.commands, "Ship it."))
        for at, top in enumerate(sorted({*os.listdir(full.home), *os.listdir(user)})):
            trap = self.room(tmp_path, f"trap-{at}")
            target = (full.home if (full.home / top).exists() else user) / top
            (trap.home / top).symlink_to(target)
            self._assert_all_miss(trap)

    def test_the_environment_pins_everything(self, tmp_path: Path) -> None:
        """A real child whose caller has moved every store finds the room's alone."""
        user, room = self.full_user_home(tmp_path), self.room(tmp_path)
        with self.as_user(user):
            pins = self.provider().environment(room)
        assert set(self.moved_by) <= set(pins), "what moves the store could be passed in"
        hostile = dict.fromkeys((*self.moved_by, *pins, "XDG_CONFIG_HOME", "XDG_DATA_HOME"), "")
        for value in (str(user), ""):
            inherited = {"PATH": os.defpath, "HOME": str(user)} | dict.fromkeys(hostile, value)
            child = {
                **environment.allowed(inherited, []),
                "HOME": str(room.home),
                "TMPDIR": str(room.home / "tmp"),
                **pins,
            }
            shown = subprocess.run(
                [sys.executable, "-I", "-c", _SHOW],
                env=child,
                cwd=room.workspace.directory,
                capture_output=True,
                check=True,
                timeout=30,
            )
            seen: dict[str, str] = json.loads(shown.stdout)
            assert str(user) not in "\n".join(seen.values()), f"the user's home is in {seen}"
            for name, pinned in pins.items():
                assert seen[name] == pinned, f"{name} is not pinned"
            for name in self.moved_by:
                assert Path(seen[name]).is_relative_to(room.home), f"{name} leads to {seen[name]}"

    def _assert_all_miss(self, room: Room) -> None:
        provider, home, work = self.provider(), room.home, room.workspace.directory
        assert provider.collect(home) is None, f"collect({str(home)!r})"
        assert provider.signature(home) is None, f"signature({str(home)!r})"
        assert list(provider.transcripts(home)) == [], f"transcripts({str(home)!r})"
        for workspace in (work, *map(Path, self.transcripts)):
            for session in (None, SESSION):
                found = provider.locate_transcript(home, workspace, session)
                assert found is None, f"locate_transcript({str(home)!r}) gave {found}"
        offered = [one for one in provider.commands(home, work) if one.path is not None]
        assert offered == [], f"commands({str(home)!r})"
        link = provider.deep_link(home)
        assert link is None or link.is_generic, f"deep_link({str(home)!r}) gave {link}"
        assert provider.health_check(room), f"{str(home)!r} passes for a seeded room"

    def _read_everything(self, room: Room) -> None:
        provider, home, work = self.provider(), room.home, room.workspace.directory
        provider.collect(home)
        provider.signature(home)
        provider.transcripts(home)
        provider.locate_transcript(home, work, SESSION)
        provider.commands(home, work)
        provider.deep_link(home)
        provider.health_check(room)
        provider.environment(room)
        provider.command(room, [])
        provider.needs(room)


def _no_homes(root: Path) -> Iterator[Path]:
    yield from (root / "nothing", Path(), Path("relative"), Path(".."))


def _without(tree: Snapshot, top: str) -> Snapshot:
    return {name: entry for name, entry in tree.items() if name.split("/")[0] not in (top, ".")}


def _plant(trap: Path, name: str, model: Path, outside: Path) -> Path:
    """Put a symlink to a copy of a furnished home into the place of one file of a new one."""
    shutil.copytree(model, outside, symlinks=True)
    for path in outside.rglob("*.json"):
        path.write_text(json.dumps({_OUTSIDE: True}))
    link = trap / name
    for directory in reversed(link.relative_to(trap).parents):
        (trap / directory).mkdir(mode=0o700, exist_ok=True)
    link.symlink_to(outside / name)
    return outside
