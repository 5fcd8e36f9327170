"""The user's own store: read where it is, named where it is broken, changed by nothing."""

from __future__ import annotations

import json
from pathlib import Path

from homeroom.errors import CredentialError
from homeroom.provider import SeedFile
from homeroom.testing.contract.base import PREFERENCES, AdapterTest, explained, refuses, state
from homeroom.testing.samples import (
    CARRIED,
    HOOK,
    corruptions,
    gives_away,
    json_values,
    logged_out,
    login,
    places,
    replaced,
    write_files,
)
from homeroom.testing.tree import changes, snapshot


class Stores(AdapterTest):
    """What the adapter reads of the user's, and how."""

    def test_a_user_who_never_had_the_agent_has_nothing(self, tmp_path: Path) -> None:
        """An empty and a missing home give no credential, no preference and no file."""
        provider, user = self.provider(), self.user_home(tmp_path)
        (elsewhere := tmp_path / "elsewhere").mkdir()
        credentials = self.credentials(elsewhere)
        before = snapshot(tmp_path)
        for home in (user, tmp_path / "no-such-home"):
            environ = {"HOME": str(home)}
            assert provider.discover(environ, home) is None
            assert list(provider.preferences(environ, home, PREFERENCES, hooks=True)) == []
            for credential in credentials:
                assert provider.restore(environ, home, credential) is False
        assert changes(before, snapshot(tmp_path)) == [], "something was written"

    def test_a_login_is_found_and_left_as_it_is(self, tmp_path: Path) -> None:
        """The credential in the store is found with its secret, and nothing changes."""
        files = self.logged_in(login(1))
        home = self.user_home(tmp_path, login(1))
        before = snapshot(tmp_path)
        found = self.provider().discover({"HOME": str(home)}, home)
        assert (found is not None) == bool(files), f"discover gave {found} for {sorted(files)}"
        if found is not None:
            assert any(login(1).access in value for value in found.values()), "not that secret"
            assert str(home) in found.source, f"{found.source!r} does not say where it is from"
        assert changes(before, snapshot(tmp_path)) == []

    def test_a_logged_out_stub_is_no_credential(self, tmp_path: Path) -> None:
        """A store whose secrets the CLI has blanked is a user who is logged out."""
        home = self.user_home(tmp_path, logged_out())
        assert self.provider().discover({"HOME": str(home)}, home) is None

    def test_a_store_open_to_others_is_copied_privately(self, tmp_path: Path) -> None:
        """Modes of the user's files do not travel into the room."""
        home = self.user_home(tmp_path, login(1))
        for name in self.logged_in(login(1)):
            (home / name).chmod(0o644)
        room = self.room(tmp_path)
        found = self.provider().discover({"HOME": str(home)}, home)
        for credential in [found] if found else []:
            self.provider().inject(room, credential)
        modes = {entry.mode for entry in snapshot(room.home).values() if entry.kind == "file"}
        assert modes <= {0o600}

    def test_the_store_is_where_the_user_moved_it(self, tmp_path: Path) -> None:
        """Each variable that moves the store is followed; an empty one moves nothing."""
        for number, (variable, names) in enumerate(self.moved_by.items(), start=2):
            (root := tmp_path / variable).mkdir()
            home, moved = self.user_home(root, login(1)), root / "moved"
            other = self.logged_in(login(number))
            write_files(moved, {new: other[old] for old, new in names.items()})
            environ = {"HOME": str(home), variable: str(moved)}
            found = self.provider().discover(environ, home)
            assert found is not None, f"{variable} is not followed"
            assert login(number).access in found.secret.reveal(), f"{variable} is not followed"
            store = self.provider().master_store(environ, home)
            kept_out = [moved / new for new in names.values()]
            kept_out += [home / old for old in self.logged_in(login(1))]
            for path in kept_out:
                inside = any(path.is_relative_to(root) for root in store.roots)
                assert inside, f"{path} is not below a root of the store"
            empty = self.provider().discover({"HOME": str(home), variable: ""}, home)
            assert empty is not None, f"an empty {variable} hides the store"
            assert login(1).access in empty.secret.reveal(), f"an empty {variable} moves the store"

    def test_the_files_with_secrets_are_named(self, tmp_path: Path) -> None:
        """Each file of a login in which a secret stands is one that a run is kept from."""
        home = self.user_home(tmp_path, login(1))
        store = self.provider().master_store({"HOME": str(home)}, home)
        for name, text in self.logged_in(login(1)).items():
            path = home / name
            assert any(path.is_relative_to(root) for root in store.roots), f"{name}: in no root"
            if gives_away(text):
                assert path in store.secrets, f"{name} holds a secret and is not named as one"

    def test_a_corrupt_store_is_named_and_left(self, tmp_path: Path) -> None:
        """The error names the file and holds none of its content; every byte stays."""
        for name, text in self.logged_in(login(1)).items():
            for number, (what, corrupt) in enumerate(corruptions().items()):
                (root := tmp_path / f"{name.replace('/', '-')}-{number}").mkdir()
                home = self.user_home(root, login(1))
                (home / name).unlink()
                corrupt(home / name, text.encode())
                before = state(root, what)
                with refuses(CredentialError, f"{name} that is {what}") as errors:
                    self.provider().discover({"HOME": str(home)}, home)
                assert str(home / name) in errors[0].message, f"{what}: {errors[0].message!r}"
                assert not gives_away(explained(errors[0])), f"{what}: a secret is in the error"
                assert changes(before, state(root, what)) == [], (
                    f"{name} that is {what} was changed"
                )

    def test_no_content_of_a_store_is_a_crash(self, tmp_path: Path) -> None:
        """Whatever JSON stands where, it is a credential, none, or a CredentialError."""
        from hypothesis import given, settings, strategies

        files = {
            name: json.loads(text)
            for name, text in self.logged_in(login(1)).items()
            if name.endswith(".json")
        }
        spots = [(name, at) for name, document in files.items() for at in places(document)]
        if not spots:
            return
        homes = iter(range(1_000_000))

        @settings(database=None, max_examples=60)
        @given(strategies.sampled_from(spots), json_values())
        def check(spot: tuple[str, tuple[str, ...]], value: object) -> None:
            name, at = spot
            changed = {**files, name: replaced(files[name], at, value)}
            home = tmp_path / f"home-{next(homes)}"
            write_files(home, {path: json.dumps(held) for path, held in changed.items()})
            self._assert_usable(home, tmp_path / f"room-{home.name}")

        check()

    def _assert_usable(self, home: Path, root: Path) -> None:
        try:
            found = self.provider().discover({"HOME": str(home)}, home)
        except CredentialError:
            return
        if found is None:
            return
        root.mkdir()
        room = self.room(root)
        found.values()
        found.can_renew()
        self.provider().inject(room, found)
        self.provider().probe(found)
        self.provider().signature(room.home)
        self.provider().collect(room.home)

    # --- preferences ----------------------------------------------------------------------

    def test_preferences_carry_what_was_chosen(self, tmp_path: Path) -> None:
        """Each name brings its own files, and no other's; no name brings nothing."""
        home = self.full_user_home(tmp_path)
        assert self._carried(home) == []
        for name in PREFERENCES:
            wanted = len(self.preferences.get(name, {}))
            carried = [seed for seed in self._carried(home, name) if CARRIED in _shown(seed)]
            assert len(carried) == wanted, f"{name}: {[seed.path for seed in carried]}"

    def test_preferences_carry_no_secret(self, tmp_path: Path) -> None:
        """No text that a CLI keeps as a secret comes along, hooks or not."""
        home = self.full_user_home(tmp_path)
        for hooks in (False, True):
            for name in PREFERENCES:
                for seed in self._carried(home, name, hooks=hooks):
                    assert not gives_away(_shown(seed)), f"{name}: a secret is in {seed.path}"

    def test_preferences_carry_hooks_only_when_asked(self, tmp_path: Path) -> None:
        """What runs a program of the user's stays at home unless the user says otherwise."""
        home = self.full_user_home(tmp_path)
        for name in PREFERENCES:
            for seed in self._carried(home, name):
                assert HOOK not in _shown(seed), f"{name}: a hook is in {seed.path}"
            own = "".join(self.preferences.get(name, {}).values())
            carried = "".join(_shown(seed) for seed in self._carried(home, name, hooks=True))
            assert carried.count(HOOK) == own.count(HOOK), f"{name}: hooks were asked for"

    def test_corrupt_preferences_are_named_and_left(self, tmp_path: Path) -> None:
        """A file of the user's that cannot be read is named; it is not passed over."""
        for name, files in self.preferences.items():
            for path, text in files.items():
                for number, (what, corrupt) in enumerate(corruptions().items()):
                    # Any text is a sound command, and a link to nothing is no file.
                    structured = path.endswith((".json", ".toml"))
                    if what == "empty" or not (structured or what in _NEVER_A_TEXT):
                        continue
                    (root := tmp_path / f"{name}-{path.replace('/', '-')}-{number}").mkdir()
                    home = self.full_user_home(root)
                    (home / path).unlink()
                    corrupt(home / path, text.encode())
                    before = state(root, what)
                    with refuses(CredentialError, f"{path} that is {what}") as errors:
                        self._carried(home, name)
                    assert str(home / path) in errors[0].message, f"{what}: {errors[0].message!r}"
                    assert not gives_away(explained(errors[0])), f"{what}: a secret is in the error"
                    assert changes(before, state(root, what)) == [], f"{path}, {what}, was changed"

    def _carried(self, home: Path, *names: str, hooks: bool = False) -> list[SeedFile]:
        return list(self.provider().preferences({"HOME": str(home)}, home, names, hooks=hooks))


_NEVER_A_TEXT = ("100 MB", "a FIFO", "a socket", "a device", "a symlink to itself")


def _shown(seed: SeedFile) -> str:
    return json.dumps(seed.patch) if seed.patch is not None else seed.content.decode()
