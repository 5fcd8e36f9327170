"""Seeds and injections: private from the first moment, in any order, any number of times."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from homeroom.credential.secret import Credential
from homeroom.errors import StateError, StorageError
from homeroom.provider import Provider, Room, SeedFile
from homeroom.provider.common import apply
from homeroom.testing.contract.base import AdapterTest, explained, holding, refuses, state, texts
from homeroom.testing.samples import corruptions, gives_away, json_values, write_files
from homeroom.testing.tree import changes, snapshot
from homeroom.testing.watch import open_umask, watched

_ENDINGS = (".json", ".toml")


class Furnishing(AdapterTest):
    """What a launch writes into a room before the agent enters."""

    def test_seeds_are_names_below_the_home(self, tmp_path: Path) -> None:
        """A seed is a plain name in the room, and what is merged is JSON or TOML."""
        seeds = self.provider().seed(self.planned_room(tmp_path / "home", tmp_path / "work"))
        for seed in seeds:
            parts = Path(seed.path).parts
            assert parts, "a seed without a name"
            assert ".." not in parts, f"{seed.path} leaves the home"
            assert not Path(seed.path).is_absolute(), f"{seed.path} is not in the home"
            assert seed.patch is None or seed.path.endswith(_ENDINGS), f"{seed.path}: which format?"
        assert not (tmp_path / "home").exists(), "seed() is pure, and yet it wrote"

    def test_a_seeded_room_is_healthy_and_an_empty_one_is_not(self, tmp_path: Path) -> None:
        """The health check tells a room that would open at the prompt from one that would not."""
        room = self.room(tmp_path)
        assert self.provider().health_check(room), "an empty room passes for a seeded one"
        self.seed(room)
        assert self.provider().health_check(room) is None
        (other := tmp_path / "elsewhere").mkdir()
        elsewhere = self.planned_room(room.home, other)
        assert self.provider().health_check(elsewhere), "any workspace passes for the seeded one"

    def test_everything_is_private_from_the_first_moment(self, tmp_path: Path) -> None:
        """Files 0600, directories 0700, whatever the umask, and never by a later chmod."""
        credentials = self.credentials(tmp_path)
        for number, first in enumerate(("seed", "inject")):
            room = self.room(tmp_path, f"home-{number}", full_credentials=True)
            with open_umask(), watched(room.home) as watch:
                if first == "seed":
                    self.seed(room)
                for credential in credentials:
                    self.provider().inject(room, credential)
                self.seed(room)
            assert watch.faults == [], f"when {first} is first"
            assert texts(room.home), "nothing was written"

    def test_the_order_of_seed_and_inject_is_the_same(self, tmp_path: Path) -> None:
        """Whatever comes first, the room has the same names, modes and contents."""
        for number, credential in enumerate(self.credentials(tmp_path)):
            one, two = (self.room(tmp_path, f"{name}-{number}") for name in ("one", "two"))
            self.seed(one)
            first = self.provider().inject(one, credential)
            second = self.provider().inject(two, credential)
            self.seed(two)
            assert first == second, f"{credential.kind}: other variables"
            assert _contents(one) == _contents(two), f"{credential.kind}: other contents"

    def test_doing_it_twice_changes_nothing(self, tmp_path: Path) -> None:
        """Seeding and injecting again leaves every byte as it was."""
        for number, credential in enumerate(self.credentials(tmp_path)):
            room = self.room(tmp_path, f"home-{number}")
            self.seed(room)
            carried = self.provider().inject(room, credential)
            once = texts(room.home)
            self.seed(room)
            assert self.provider().inject(room, credential) == carried
            assert texts(room.home) == once, f"{credential.kind}: not the same the second time"

    def test_another_credential_replaces_the_first(self, tmp_path: Path) -> None:
        """Nothing of the old one is left in the room."""
        first, second = self.credentials(tmp_path), self.credentials(tmp_path, 2)
        for number, (old, new) in enumerate(zip(first, second, strict=True)):
            room = self.room(tmp_path, f"home-{number}", full_credentials=True)
            self.provider().inject(room, old)
            self.provider().inject(room, new)
            assert holding(texts(room.home), old.values()) == [], f"{old.kind}: the old one is left"

    def test_foreign_keys_stay(self, tmp_path: Path) -> None:
        """Whatever else a JSON file of the room holds, it still holds after seed and inject."""
        from hypothesis import given, settings

        credentials = self.credentials(tmp_path)
        model = self._furnished(tmp_path, "model")
        files = {name: text for name, text in texts(model.home).items() if name.endswith(".json")}
        rooms = iter(range(1_000_000))

        @settings(database=None, max_examples=20)
        @given(json_values())
        def check(value: object) -> None:
            foreign = {name: _foreign(json.loads(text), value) for name, text in files.items()}
            room = self.room(tmp_path, f"home-{next(rooms)}", full_credentials=True)
            write_files(room.home, {name: json.dumps(held) for name, held in foreign.items()})
            self.seed(room)
            for credential in credentials:
                self.provider().inject(room, credential)
            for name, held in foreign.items():
                found = json.loads((room.home / name).read_bytes())
                lost = _lost(held, found)
                assert lost is None, f"{name}: {lost} is gone or another"

        check()

    def test_a_corrupt_file_in_the_room_is_named_and_left(self, tmp_path: Path) -> None:
        """What cannot be merged with is refused by its name, and every byte stays."""
        sounds = texts(self._furnished(tmp_path, "model").home)
        rooms = iter(range(1_000_000))
        for name, sound in sounds.items():
            for act in self._mergers(tmp_path, name):
                for what, corrupt in corruptions().items():
                    # An empty file was made and not yet written to: there is nothing to lose.
                    if what == "empty":
                        continue
                    room = self.room(tmp_path, f"home-{next(rooms)}", full_credentials=True)
                    write_files(room.home, {name: ""})
                    (room.home / name).unlink()
                    corrupt(room.home / name, sound)
                    _assert_named_and_left(room, what, name, act)

    def _mergers(self, root: Path, name: str) -> list[Callable[[Room], object]]:
        """List what of furnishing merges into one file, as functions of the room."""
        provider = self.provider()
        seeds = provider.seed(self.planned_room(root / "home", root / "work"))
        found: list[Callable[[Room], object]] = [
            partial(_apply, seed) for seed in seeds if seed.path == name and seed.patch is not None
        ]
        for number, credential in enumerate(self.credentials(root)):
            probe = self.room(root, f"probe-{number}-{name.replace('/', '-')}")
            provider.inject(probe, credential)
            if name in texts(probe.home) and name.endswith(_ENDINGS):
                found.append(partial(_inject, provider, credential))
        return found

    def _furnished(self, root: Path, name: str) -> Room:
        room = self.room(root, name, full_credentials=True)
        self.seed(room)
        for credential in self.credentials(root):
            self.provider().inject(room, credential)
        return room

    def test_the_arguments_are_the_users_own(self, tmp_path: Path) -> None:
        """The CLI's argv begins with the pinned program and holds each argument as it is."""
        room = self.room(tmp_path)
        arguments = ["-p", "two words", "", "--", "-x", "größe\n"]
        argv = list(self.provider().command(room, arguments))
        assert argv[0] == str(room.executable)
        assert argv[-len(arguments) :] == arguments
        assert next(iter(self.provider().command(room, []))) == str(room.executable)

    def test_a_prompt_is_one_argument(self) -> None:
        """Whatever it says, a prompt reaches the CLI whole, and as nothing else."""
        for prompt in ("fix the typo", "--version", "", "two\nlines $HOME"):
            arguments = list(self.provider().unattended(prompt))
            assert arguments.count(prompt) == 1, f"{prompt!r} became {arguments}"

    def test_what_asks_no_model_needs_no_login(self, tmp_path: Path) -> None:
        """A prompt for a person, who can log in there, and the CLI's own help start logged out."""
        room = self.planned_room(tmp_path / "home", tmp_path / "work")
        for arguments in ([], ["--help"], ["--version"], ["two words"], [""]):
            needs = self.provider().needs_login(room, arguments, (), self.provider().seed(room))
            assert not needs, f"{arguments} would be refused"

    def test_what_is_outside_of_the_home_is_named(self) -> None:
        """Machine files by their paths, inherited and obeyed ones by names below a directory."""
        surfaces = self.provider().surfaces()
        assert all(Path(path).is_absolute() for path in surfaces.machine), surfaces.machine
        for name in (*surfaces.inherited, *surfaces.obeyed):
            assert not Path(name).is_absolute(), f"{name} is no name"
            assert ".." not in Path(name).parts, f"{name} leads out"


def _contents(room: Room) -> dict[str, tuple[int, object]]:
    """Read a room, JSON and TOML as what they say: the order of keys says nothing."""
    entries = snapshot(room.home)
    return {
        name: (entries[name].mode, _parsed(name, text).get("content", text))
        for name, text in texts(room.home).items()
    }


def _parsed(name: str, text: bytes) -> Mapping[str, Any]:
    if name.endswith(".json"):
        return {"content": json.loads(text)}
    return {"content": tomllib.loads(text.decode())} if name.endswith(".toml") else {}


def _foreign(document: object, value: object) -> Any:  # noqa: ANN401
    """Give what else could stand in a document: foreign keys, at each of its levels."""
    if not isinstance(document, Mapping):
        return value
    inner = {key: _foreign(held, value) for key, held in document.items() if _is_table(held)}
    return {"kit-foreign": value, "zz": {"kit": [value]}, **inner}


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping)


def _lost(held: Any, found: Any) -> str | None:  # noqa: ANN401
    """Tell which of the foreign keys is not there any more."""
    for key, value in held.items():
        if not isinstance(found, dict) or key not in found:
            return str(key)
        if key in ("kit-foreign", "zz"):
            if found[key] != value:
                return str(key)
        elif (lost := _lost(value, found[key])) is not None:
            return f"{key}.{lost}"
    return None


def _apply(seed: SeedFile, room: Room) -> None:
    apply(room.home, seed)


def _inject(provider: Provider, credential: Credential, room: Room) -> None:
    provider.inject(room, credential)


def _assert_named_and_left(room: Room, what: str, name: str, act: Callable[[Room], object]) -> None:
    before = state(room.home / name, what)
    with refuses((StateError, StorageError), f"{name} that is {what}") as errors:
        act(room)
    assert name in errors[0].message, f"{what}: {errors[0].message!r} does not name it"
    assert changes(before, state(room.home / name, what)) == [], f"{name}, {what}, was changed"
    assert not gives_away(explained(errors[0])), f"{what}: a secret is in the error"
