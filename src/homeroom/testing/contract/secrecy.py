"""Secrets are seen by nobody, and keys are told from what is none."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from homeroom import home, paths, plan, provider, seeding
from homeroom.cli import plan_view
from homeroom.config import Config
from homeroom.credential.secret import Credential, Secret
from homeroom.testing.contract.base import AdapterTest, texts
from homeroom.testing.samples import gives_away, json_values, login, write_files
from homeroom.testing.toolchain import stub_toolchain
from homeroom.toolchain.store import TOOLCHAIN_VARIABLE


class Secrecy(AdapterTest):
    """What is shown of a credential, and what it is told by."""

    def test_no_way_to_print_a_credential_shows_it(self, tmp_path: Path) -> None:
        """repr, str, format and JSON of a credential and of what carries it are masked."""
        for number, credential in enumerate(self.credentials(tmp_path)):
            room = self.room(tmp_path, f"home-{number}")
            carried = self.provider().inject(room, credential)
            _, headers = self.provider().probe(credential)
            for thing in (credential, carried, headers, credential.secret):
                shown = f"{thing!r} {thing!s} {thing:>1}" if isinstance(thing, Secret) else ""
                shown += f"{thing!r} {thing} {json.dumps(thing, default=str)}"
                assert not _secrets_in(shown, credential), f"{credential.kind} is shown: {shown}"

    def test_a_plan_shows_no_secret(self, tmp_path: Path) -> None:
        """The plan of a run, as text and as JSON, holds none; nor does the sandbox's argv."""
        user = self.full_user_home(tmp_path)
        (work := tmp_path / "work").mkdir()
        adapter = self.provider()
        stub = stub_toolchain(tmp_path / "tools", adapter.tool)
        environ = {"HOME": str(user), "PATH": "/usr/bin:/bin", TOOLCHAIN_VARIABLE: str(stub)}
        environ |= {"HOMEROOM_HOME": str(tmp_path / "root"), "KIT_KEY": "kit-key-in-a-variable"}
        for name in (None, "KIT_KEY"):
            request = plan.Request(adapter.name, directory=work, api_key_env=name, inherit=())
            with mock.patch.object(provider, "get", return_value=adapter):
                made = plan.make(
                    request, environ, paths.locate(environ), Config(), home.new_run_id()
                )
            document = plan_view.document(made)
            for shown in (repr(made), json.dumps(document), plan_view.text(document)):
                assert not gives_away(shown), "a secret is in the plan"

    def test_nothing_is_said_while_furnishing(self, tmp_path: Path) -> None:
        """No secret is logged, warned about or printed."""
        user, room = self.user_home(tmp_path, login(1)), self.room(tmp_path)
        credentials = self.credentials(tmp_path)
        with overheard() as said:
            self.provider().discover({"HOME": str(user)}, user)
            self.seed(room)
            for credential in credentials:
                self.provider().inject(room, credential)
                self.provider().signature(room.home)
                self.provider().collect(room.home)
        for credential in credentials:
            assert not _secrets_in(said.getvalue(), credential), said.getvalue()

    def test_an_environment_holds_secrets_as_such(self, tmp_path: Path) -> None:
        """Every secret is in the room's files or in a variable of the type Secret."""
        for number, credential in enumerate(self.credentials(tmp_path)):
            room = self.room(tmp_path, f"home-{number}", full_credentials=True)
            carried = self.provider().inject(room, credential)
            held = b"".join(texts(room.home).values()).decode()
            held += "".join(secret.reveal() for secret in carried.values())
            assert _secrets_in(held, credential), f"{credential.kind}: it arrived nowhere"
            assert all(isinstance(value, Secret) for value in carried.values())
            pins = "".join(self.provider().environment(room).values())
            assert not _secrets_in(pins, credential), "a secret is in the pins"

    # --- signatures -------------------------------------------------------------------------

    def test_the_signature_changes_with_the_credential(self, tmp_path: Path) -> None:
        """Another credential has another signature, and the same one the same."""
        first, second = self.credentials(tmp_path), self.credentials(tmp_path, 2)
        for number, (one, two) in enumerate(zip(first, second, strict=True)):
            room = self.room(tmp_path, f"home-{number}", full_credentials=True)
            before = self._signed(room.home)
            carried = self.provider().inject(room, one)
            signature = self._signed(room.home)
            if carried:
                # It is in the environment alone: there is nothing in the home to watch.
                assert signature == before
                continue
            assert signature, f"{one.kind}: a credential without a signature"
            self.provider().inject(room, one)
            assert self._signed(room.home) == signature, f"{one.kind}: the same, another signature"
            self.provider().inject(room, two)
            assert self._signed(room.home) not in (None, signature), f"{one.kind}: not told apart"

    def test_the_signature_changes_with_nothing_else(self, tmp_path: Path) -> None:
        """Foreign keys, seeds, other files and times are not the credential."""
        from hypothesis import given, settings

        rooms = iter(range(1_000_000))
        kept = [
            credential
            for number, credential in enumerate(self.credentials(tmp_path))
            if not self.provider().inject(self.room(tmp_path, f"probe-{number}"), credential)
        ]

        @settings(database=None, max_examples=20)
        @given(json_values())
        def check(value: object) -> None:
            for credential in kept:
                room = self.room(tmp_path, f"home-{next(rooms)}", full_credentials=True)
                self.provider().inject(room, credential)
                signature = self._signed(room.home)
                for name in texts(room.home):
                    if name.endswith(".json"):
                        seeding.merge(room.home / name, {"kit-foreign": value})
                self.seed(room)
                write_files(room.home, {"notes.json": json.dumps(value)})
                assert self._signed(room.home) == signature

        check()

    def _signed(self, room_home: Path) -> str | None:
        return self.provider().signature(room_home)

    # --- shapes -----------------------------------------------------------------------------

    def test_keys_are_told_by_their_shape(self) -> None:
        """A sample passes; anything else is refused by a reason that does not repeat it."""
        adapter = self.provider()
        for kind in self.key_prefixes:
            assert adapter.check_shape(kind, Secret(self.key(kind))) is None, f"{kind}: refused"
            for wrong in ("", "kit wrong", f"{self.key(kind)}\n", f" {self.key(kind)}"):
                reason = adapter.check_shape(kind, Secret(wrong))
                assert reason, f"{kind}: {wrong!r} passes for one"
                assert not wrong.strip() or wrong.strip() not in reason, "the reason repeats it"

    def test_a_credential_can_be_tried_by_one_request(self, tmp_path: Path) -> None:
        """It goes to the vendor by TLS, and what is secret in its headers is a Secret."""
        for credential in self.credentials(tmp_path):
            url, headers = self.provider().probe(credential)
            assert url.startswith("https://"), f"{credential.kind} would go to {url}"
            told = " ".join(
                value.reveal() for value in headers.values() if isinstance(value, Secret)
            )
            plain = " ".join(value for value in headers.values() if isinstance(value, str))
            assert _secrets_in(told, credential), f"{credential.kind}: the request is without it"
            assert not _secrets_in(f"{url} {plain}", credential), "a secret is not a Secret"

    def test_the_demo_needs_no_account(self, tmp_path: Path) -> None:
        """Its credential has the shape of a real one, and can be injected."""
        credential = self.provider().demo_credential()
        assert self.provider().check_shape(credential.kind, credential.secret) is None
        room = self.room(tmp_path)
        carried = self.provider().inject(room, credential)
        assert carried or texts(room.home), "it arrived nowhere"

    def test_the_ways_to_log_in_have_names(self) -> None:
        """Each is called by its own name and says which hosts it must reach."""
        ways = list(self.provider().login_ways())
        assert len({way.name for way in ways}) == len(ways)
        for way in ways:
            assert way.arguments, f"{way.name} would start the agent's prompt"
            assert all(":" in host for host in way.hosts), f"{way.name}: hosts without a port"


def _secrets_in(shown: str, credential: Credential) -> list[str]:
    return [value for value in credential.values() if value in shown]


@contextlib.contextmanager
def overheard() -> Iterator[io.StringIO]:
    """Listen to all that is logged, warned about or printed in a block."""
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with (
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(said),
            warnings.catch_warnings(record=True) as warned,
        ):
            yield said
        said.write("".join(f"{warning.message}\n" for warning in warned))
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
