"""What a run leaves in its room: read without trust, found where the CLI puts it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from homeroom.errors import StorageError
from homeroom.provider.common import apply
from homeroom.testing.contract.base import AdapterTest, refuses, state, texts
from homeroom.testing.samples import (
    OTHER_SESSION,
    SESSION,
    corruptions,
    json_values,
    places,
    replaced,
    write_files,
)
from homeroom.testing.tree import changes


class Leavings(AdapterTest):
    """Transcripts, commands, links and credentials, all written by an agent."""

    def test_a_transcript_is_found_where_the_cli_puts_it(self, tmp_path: Path) -> None:
        """By workspace and conversation, and by workspace alone, whatever its name."""
        provider = self.provider()
        for number, (workspace, name) in enumerate(self.transcripts.items()):
            home = self.room(tmp_path, f"home-{number}").home
            write_files(home, {name: "\n".join(self.transcript)})
            wanted = home / name
            for session in (None, SESSION):
                found = provider.locate_transcript(home, Path(workspace), session)
                assert found == wanted, f"{workspace}: found {found}"
            assert provider.locate_transcript(home, Path(workspace), OTHER_SESSION) is None
            assert list(provider.transcripts(home)) == [wanted], f"{workspace}: not listed"

    def test_the_newest_transcript_is_the_one(self, tmp_path: Path) -> None:
        """Without a conversation's id, it is the one that was written to last."""
        home = self.room(tmp_path).home
        for workspace, name in self.transcripts.items():
            for number, session in enumerate((OTHER_SESSION, SESSION)):
                path = home / name.replace(SESSION, session)
                write_files(home, {str(path.relative_to(home)): "{}"})
                os.utime(path, (1_000_000 + number, 1_000_000 + number))
            found = self.provider().locate_transcript(home, Path(workspace))
            assert found == home / name
            break

    def test_a_name_that_is_a_pattern_finds_nothing(self, tmp_path: Path) -> None:
        """An id is a whole name: neither a pattern, nor a part, nor a way out."""
        patterns = ("*", "?" * len(SESSION), "[0-9a-f]*", "**")
        home = self.room(tmp_path).home
        for workspace, name in self.transcripts.items():
            write_files(home, {name: "{}"})
            for session in (*patterns, f"../{SESSION}", "/etc/passwd", SESSION[:8], SESSION[-4:]):
                found = self.provider().locate_transcript(home, Path(workspace), session)
                assert found is None, f"{session!r} found {found}"

    def test_only_files_are_transcripts(self, tmp_path: Path) -> None:
        """What an agent put there instead, a symlink for one, is not listed or not read."""
        for workspace, name in self.transcripts.items():
            for number, (what, corrupt) in enumerate(corruptions().items()):
                home = self.room(tmp_path, f"home-{number}").home
                write_files(home, {name: ""})
                (home / name).unlink()
                corrupt(home / name, b"")
                found = self.provider().locate_transcript(home, Path(workspace), SESSION)
                odd = found is not None and not found.is_symlink() and not found.is_file()
                assert not odd, f"{what} passes for a transcript"
                listed = self.provider().transcripts(home)
                assert all(path.is_relative_to(home) for path in listed)
            break

    def test_a_transcript_is_read_as_messages(self) -> None:
        """Who said what, when, and which tools were called, in order."""
        lines = [f"{line}\n".encode() for line in self.transcript]
        assert list(self.provider().read_transcript(iter(lines))) == list(self.conversation)

    def test_a_line_that_is_none_is_passed_over(self) -> None:
        """A line that is cut off, empty, deep or no object ends no reading."""
        odd = (b"\n", b"[1]\n", b'{"a"', b"\xff\n", b"[" * 100_000 + b"\n", b"null\n", b"{}\n")
        for line in odd:
            lines = [line, *(f"{line}\n".encode() for line in self.transcript), line]
            read = list(self.provider().read_transcript(iter(lines)))
            assert read == list(self.conversation), f"{line[:20]!r} changed what was read"

    def test_no_line_is_a_crash(self) -> None:
        """Whatever JSON stands where in a transcript, it is read or passed over."""
        from hypothesis import given, settings, strategies

        entries = [json.loads(line) for line in self.transcript]
        spots = [(at, where) for at, entry in enumerate(entries) for where in places(entry)]
        if not spots:
            return

        @settings(database=None, max_examples=100)
        @given(strategies.sampled_from(spots), json_values())
        def check(spot: tuple[int, tuple[str, ...]], value: object) -> None:
            entry = replaced(entries[spot[0]], spot[1], value)
            for message in self.provider().read_transcript(iter([json.dumps(entry).encode()])):
                assert isinstance(message.text, str), f"{message.text!r} is no text"
                assert isinstance(message.at, str | None), f"{message.at!r} is no time"

        check()

    def test_a_conversation_can_be_gone_on_with(self, tmp_path: Path) -> None:
        """The transcript is put where the CLI looks for it, and the arguments stay."""
        provider = self.provider()
        for number, name in enumerate(self.transcripts.values()):
            kept = tmp_path / f"kept-{number}"
            write_files(kept, {name: "\n".join(self.transcript)})
            room = self.room(tmp_path, f"home-{number}")
            seed, arguments = provider.resume(room, kept / name, ["-x", "two words"])
            apply(room.home, seed)
            work = room.workspace.directory
            found = provider.locate_transcript(room.home, work, SESSION)
            assert found == room.home / seed.path, f"{seed.path} is not where it is looked for"
            assert found.read_bytes() == (kept / name).read_bytes()
            assert list(arguments)[-2:] == ["-x", "two words"]
            assert len(arguments) > 2, "nothing tells the CLI to go on"

    def test_a_transcript_that_is_none_is_not_gone_on_with(self, tmp_path: Path) -> None:
        """What is missing or no file is refused, and nothing is written."""
        room = self.room(tmp_path)
        for number, (what, corrupt) in enumerate(corruptions().items()):
            name = next(iter(self.transcripts.values()))
            kept = tmp_path / f"kept-{number}"
            write_files(kept, {name: ""})
            (kept / name).unlink()
            with refuses(StorageError, "a transcript that is missing"):
                self.provider().resume(room, kept / name, [])
            corrupt(kept / name, b"")
            if (kept / name).is_symlink() or not (kept / name).is_file():
                with refuses(StorageError, f"a transcript that is {what}"):
                    self.provider().resume(room, kept / name, [])
        assert texts(room.home) == {}

    def test_commands_and_skills_are_found(self, tmp_path: Path) -> None:
        """Those of the room's home and those of the workspace, each with its origin."""
        room = self.room(tmp_path)
        home, work = room.home, room.workspace.directory
        write_files(home, dict.fromkeys(self.commands, "Ship it."))
        write_files(work, dict.fromkeys(self.project_commands, "Ship it."))
        offered = self.provider().commands(home, work)
        found = [one for one in offered if one.origin != "built-in"]
        wanted = {("user", home / name) for name in self.commands}
        wanted |= {("project", work / name) for name in self.project_commands}
        assert {(one.origin, one.path) for one in found} == wanted
        assert {one.name for one in found} <= {"ship-it"}

    def test_what_an_agent_left_of_a_login_is_not_trusted(self, tmp_path: Path) -> None:
        """A credential file that is something else is no credential, and stays as it is."""
        for number, credential in enumerate(self.credentials(tmp_path)):
            model = self.room(tmp_path, f"model-{number}", full_credentials=True)
            self.provider().inject(model, credential)
            for name, sound in texts(model.home).items():
                for which, (what, corrupt) in enumerate(corruptions().items()):
                    home = self.room(tmp_path, f"home-{number}-{hash(name)}-{which}").home
                    self._assert_no_credential(home, (name, sound), what, corrupt)

    def _assert_no_credential(
        self,
        home: Path,
        sound: tuple[str, bytes],
        what: str,
        corrupt: Callable[[Path, bytes], None],
    ) -> None:
        write_files(home, {sound[0]: ""})
        (home / sound[0]).unlink()
        corrupt(home / sound[0], sound[1])
        before = state(home, what)
        assert self.provider().collect(home) is None, f"{sound[0]} that is {what} is a credential"
        assert self.provider().signature(home) is None, f"{sound[0]} that is {what} is signed"
        assert changes(before, state(home, what)) == []

    def test_no_credential_that_an_agent_left_is_a_crash(self, tmp_path: Path) -> None:
        """Whatever JSON stands where in it, it is a credential or none."""
        from hypothesis import given, settings, strategies

        model = self.room(tmp_path, "model", full_credentials=True)
        for credential in self.credentials(tmp_path):
            self.provider().inject(model, credential)
        files = {
            name: json.loads(text)
            for name, text in texts(model.home).items()
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
            found = self.provider().collect(home)
            signature = self.provider().signature(home)
            assert (found is None) == (signature is None), "collected and not signed, or not so"
            if found is not None:
                found.values()
                found.can_renew()

        check()
