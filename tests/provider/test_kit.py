"""The kit catches adapters that break their contract, each in one way."""

import inspect
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from homeroom import seeding
from homeroom.credential.secret import Credential, Secret
from homeroom.provider import Message, Needs, Provider, Room, SeedFile
from homeroom.testing.fake import FakeProvider
from tests.provider.test_fake import TestFake as Conformance

STORE = ".fake-agent"


class FallsBack(FakeProvider):
    """Reads the user's own store where there is no home."""

    def collect(self, home: Path) -> Credential | None:
        return super().collect(home if home.is_absolute() and home.is_dir() else Path.home())


class WritesAnywhere(FakeProvider):
    """Makes the home that it misses."""

    def inject(self, room: Room, credential: Credential) -> Mapping[str, Secret]:
        room.home.mkdir(exist_ok=True)
        return super().inject(room, credential)


class FollowsSymlinks(FakeProvider):
    """Reads through whatever an agent put there."""

    def signature(self, home: Path) -> str | None:
        try:
            return str(hash((home / STORE / "login.json").read_bytes()))
        except OSError:
            return None


class Touches(FakeProvider):
    """Leaves a note beside the user's login."""

    def discover(self, environ: Mapping[str, str], user_home: Path) -> Credential | None:
        if (user_home / STORE).is_dir():
            (user_home / STORE / "seen").touch()
        return super().discover(environ, user_home)


class ClosesLater(FakeProvider):
    """Writes first and takes the others' rights away after that."""

    def inject(self, room: Room, credential: Credential) -> Mapping[str, Secret]:
        carried = super().inject(room, credential)
        note = room.home / "note"
        note.write_text("injected")
        note.chmod(0o600)
        return carried


class Overwrites(FakeProvider):
    """Knows only its own keys."""

    def inject(self, room: Room, credential: Credential) -> Mapping[str, Secret]:
        seeding.require_home(room.home)
        path = room.home / STORE / "login.json"
        if path.exists() and not path.is_symlink():
            path.unlink()
        return super().inject(room, credential)


class SeedsOnce(FakeProvider):
    """Gives another seed each time."""

    def seed(self, room: Room) -> Sequence[SeedFile]:
        return (*super().seed(room), SeedFile("id", content=os.urandom(8)))


class Renews(FakeProvider):
    """Gives every room the whole grant."""

    def inject(self, room: Room, credential: Credential) -> Mapping[str, Secret]:
        if credential.kind != "oauth":
            return super().inject(room, credential)
        seeding.require_home(room.home)
        grant = json.loads(credential.secret.reveal())
        seeding.merge(room.home / STORE / "login.json", {"grant": grant})
        return {}


class ReachesTheTokenHost(FakeProvider):
    """Lets every room renew."""

    def needs(self, room: Room) -> Needs:
        return Needs((*super().needs(room).hosts, "*.fake.invalid:443"))


class Inherits(FakeProvider):
    """Takes a variable of the caller's for its pin."""

    def environment(self, room: Room) -> Mapping[str, str]:
        pinned = super().environment(room)
        return {name: os.environ.get(name, value) for name, value in pinned.items()}


class TellsSecrets(FakeProvider):
    """Sends a secret as plain text."""

    def probe(self, credential: Credential) -> tuple[str, Mapping[str, Secret | str]]:
        url, headers = super().probe(credential)
        plain = {
            name: value.reveal() for name, value in headers.items() if isinstance(value, Secret)
        }
        return url, plain


class SignsEverything(FakeProvider):
    """Takes any change of its file for one of the credential."""

    def signature(self, home: Path) -> str | None:
        known = super().signature(home)
        return known and known + str((home / STORE / "login.json").stat().st_size)


class TakesAnything(FakeProvider):
    """Takes back any grant that a room has."""

    def restore(self, environ: Mapping[str, str], user_home: Path, renewed: Credential) -> bool:
        path = user_home / environ.get("FAKE_AGENT_HOME", STORE) / "login.json"
        if not path.exists() or renewed.kind != "oauth":
            return False
        document = json.loads(path.read_bytes())
        document["grant"] = json.loads(renewed.secret.reveal())
        path.write_text(json.dumps(document))
        return True


class TrustsWhatAnAgentWrote(FakeProvider):
    """Believes that a login file is one."""

    def collect(self, home: Path) -> Credential | None:
        found = super().collect(home)
        path = home / STORE / "login.json"
        return found if found or not path.is_file() else self._read(path)

    def _read(self, path: Path) -> Credential:
        grant = json.loads(path.read_bytes())["grant"]
        return Credential("oauth", Secret(json.dumps(grant)), str(path))


class Matches(FakeProvider):
    """Takes the id of a conversation for a pattern."""

    def locate_transcript(
        self, home: Path, workspace: Path, session: str | None = None
    ) -> Path | None:
        if not home.is_absolute():
            return None
        place = home / f"{STORE}/talks{workspace}"
        return next(iter(place.glob(f"{session or '*'}.jsonl")), None)


class StopsAtOddLines(FakeProvider):
    """Expects every line of a transcript to be one."""

    def read_transcript(self, lines: Iterator[bytes]) -> Iterator[Message]:
        for line in lines:
            entry: dict[str, Any] = json.loads(line)
            yield Message(entry["who"], entry["text"])


class Carries(FakeProvider):
    """Carries the login along with the notes."""

    def preferences(
        self, environ: Mapping[str, str], user_home: Path, names: Sequence[str], *, hooks: bool
    ) -> Sequence[SeedFile]:
        found = super().preferences(environ, user_home, names, hooks=hooks)
        login = user_home / STORE / "login.json"
        extra = [SeedFile("login.json", content=login.read_bytes())] if found else []
        return (*found, *extra)


CAUGHT = [
    (FallsBack, "test_a_home_that_is_not_there_holds_nothing"),
    (WritesAnywhere, "test_a_home_that_is_not_there_takes_no_write"),
    (FollowsSymlinks, "test_no_read_follows_a_symlink_out_of_the_room"),
    (Touches, "test_nothing_outside_the_home_changes"),
    (Touches, "test_a_login_is_found_and_left_as_it_is"),
    (ClosesLater, "test_everything_is_private_from_the_first_moment"),
    (Overwrites, "test_foreign_keys_stay"),
    (SeedsOnce, "test_doing_it_twice_changes_nothing"),
    (SeedsOnce, "test_the_order_of_seed_and_inject_is_the_same"),
    (Renews, "test_a_room_holds_nothing_that_renews"),
    (ReachesTheTokenHost, "test_a_room_cannot_reach_what_renews"),
    (Inherits, "test_the_environment_pins_everything"),
    (TellsSecrets, "test_no_way_to_print_a_credential_shows_it"),
    (TellsSecrets, "test_a_credential_can_be_tried_by_one_request"),
    (SignsEverything, "test_the_signature_changes_with_nothing_else"),
    (TakesAnything, "test_what_is_not_better_is_not_written"),
    (TrustsWhatAnAgentWrote, "test_what_an_agent_left_of_a_login_is_not_trusted"),
    (TrustsWhatAnAgentWrote, "test_no_credential_that_an_agent_left_is_a_crash"),
    (Matches, "test_a_name_that_is_a_pattern_finds_nothing"),
    (StopsAtOddLines, "test_a_line_that_is_none_is_passed_over"),
    (Carries, "test_preferences_carry_no_secret"),
]


@pytest.mark.parametrize(("broken", "obligation"), CAUGHT)
def test_a_broken_adapter_is_caught(
    tmp_path: Path, broken: type[FakeProvider], obligation: str
) -> None:
    class Broken(Conformance):
        def provider(self) -> Provider:
            return broken()

    method = getattr(Broken(), obligation)
    arguments = [tmp_path] if "tmp_path" in inspect.signature(method).parameters else []
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever it is, the test fails
        method(*arguments)
    assert caught.value is not None


def test_the_unbroken_one_keeps_each_of_these(tmp_path: Path) -> None:
    """Else the tests above would prove nothing."""
    for number, obligation in enumerate(sorted({name for _, name in CAUGHT})):
        method = getattr(Conformance(), obligation)
        (place := tmp_path / str(number)).mkdir()
        method(*([place] if "tmp_path" in inspect.signature(method).parameters else []))
