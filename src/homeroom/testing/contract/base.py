"""What an adapter's test says about its adapter, and the places that every obligation uses."""

from __future__ import annotations

import contextlib
import os
import traceback
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from unittest import mock

from homeroom.credential.secret import Credential, CredentialKind, Secret
from homeroom.errors import HomeroomError
from homeroom.provider import Message, Options, Provider, Room
from homeroom.provider.common import apply
from homeroom.testing.samples import HUGE, Login, login, write_files
from homeroom.testing.tree import Snapshot, snapshot
from homeroom.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterable

PREFERENCES = ("settings", "commands", "agents", "skills", "instructions", "mcp")


class AdapterTest(ABC):
    """The part of the kit that an adapter's own test fills in.

    What an agent does not have is left empty, so that it says so.

    Attributes:
        key_prefixes: How the keys and tokens begin that the adapter takes besides what is
            in the user's own store, by kind.
        moved_by: Variables that move the user's store: for each, the names that files of
            ``logged_in`` have in the directory it names. Others stay where they are.
        preferences: What the user may have carried into a room, by the words of ``[seed]``:
            files below the user's home. Each text holds ``CARRIED`` where it must arrive,
            and may hold ``SECRET`` and ``HOOK`` where a CLI keeps such things.
        transcripts: Where the CLI writes the transcript of the conversation ``SESSION``,
            relative to the room's home, for each workspace.
        transcript: A transcript's lines.
        conversation: What they say.
        commands: Files below a home that define a command or skill ``ship-it``.
        project_commands: The same below a workspace.
    """

    key_prefixes: ClassVar[Mapping[CredentialKind, str]]
    moved_by: ClassVar[Mapping[str, Mapping[str, str]]]
    preferences: ClassVar[Mapping[str, Mapping[str, str]]]
    transcripts: ClassVar[Mapping[str, str]]
    transcript: ClassVar[Sequence[str]]
    conversation: ClassVar[Sequence[Message]]
    commands: ClassVar[Sequence[str]]
    project_commands: ClassVar[Sequence[str]]

    @abstractmethod
    def provider(self) -> Provider:
        """Make the adapter."""

    @abstractmethod
    def logged_in(self, login: Login) -> Mapping[str, str]:
        """Give the files that the CLI has in a user's home after a login.

        Args:
            login: Whose; its secrets are empty where the CLI has blanked them.

        Returns:
            Texts by name relative to the home; empty for an agent that keeps none.
        """

    # --- places -------------------------------------------------------------------------

    def user_home(self, root: Path, login: Login | None = None, name: str = "user") -> Path:
        """Make the home of a user who is logged in, or of one who never was."""
        home = root / name
        home.mkdir(mode=0o700)
        write_files(home, self.logged_in(login) if login else {})
        return home

    def full_user_home(self, root: Path) -> Path:
        """Make a user's home with everything in it that a room must not be mistaken for."""
        home = self.user_home(root, login(1))
        for files in self.preferences.values():
            write_files(home, {name: text for name, text in files.items() if name})
        left = {path: "\n".join(self.transcript) for path in self.transcripts.values()}
        write_files(home, left | dict.fromkeys(self.commands, "Ship it."))
        return home

    def room(self, root: Path, name: str = "home", **options: bool) -> Room:
        """Make an empty room below a directory, and a workspace beside it."""
        room = self.planned_room(root / name, root / "work", **options)
        room.home.mkdir(mode=0o700)
        room.workspace.directory.mkdir(exist_ok=True)
        return room

    def planned_room(self, home: Path, workspace: Path, **options: bool) -> Room:
        """Describe a room without making it."""
        place = Workspace(workspace, workspace, (), (workspace,))
        tool = workspace / "the-agent"
        return Room(home, place, "1.2.3", tool, options=Options(**options))

    def seed(self, room: Room) -> None:
        """Write an adapter's seeds as a launch does."""
        for seed in self.provider().seed(room):
            apply(room.home, seed)

    # --- credentials --------------------------------------------------------------------

    def discovered(self, root: Path, number: int, name: str = "") -> Credential | None:
        """Read a login from a user's home, which is made for it."""
        home = self.user_home(root, login(number), name or f"user-{number}")
        return self.provider().discover({"HOME": str(home)}, home)

    def credentials(self, root: Path, number: int = 1) -> list[Credential]:
        """Make one credential of each kind that the adapter takes.

        Args:
            root: Where the home of a user may be made.
            number: Another one gives other secrets.
        """
        made = [
            Credential(kind, Secret(self.key(kind, number)), "the kit")
            for kind in self.key_prefixes
        ]
        found = self.discovered(root, number, f"user-{number}-{len(os.listdir(root))}")
        return [*made, found] if found else made

    def key(self, kind: CredentialKind, number: int = 1) -> str:
        """Make up a key or token in the shape that the adapter takes."""
        return f"{self.key_prefixes[kind]}kit-key-{number}-3e5d7c9b1a2f4e6d8c0b-kit-key-{number}"

    @contextlib.contextmanager
    def as_user(self, home: Path) -> Iterator[None]:
        """Let this process be the user's: HOME, moved stores, working directory."""
        moved = dict.fromkeys(self.moved_by, str(home))
        with mock.patch.dict(os.environ, {"HOME": str(home), **moved}), contextlib.chdir(home):
            yield


def state(path: Path, what: str) -> Snapshot:
    """Record a tree in which one file is corrupt; the largest is known by size and times."""
    return snapshot(path, contents=what != HUGE)


def texts(home: Path) -> dict[str, bytes]:
    """Read every regular file below a directory."""
    names = [name for name, entry in snapshot(home).items() if entry.kind == "file"]
    return {name: (home / name).read_bytes() for name in names}


def holding(files: Mapping[str, bytes], words: Iterable[str]) -> list[str]:
    """List the files in which one of the texts stands."""
    sought = [word.encode() for word in words]
    return [name for name, text in files.items() if any(word in text for word in sought)]


@contextlib.contextmanager
def refuses(
    kind: type[HomeroomError] | tuple[type[HomeroomError], ...], what: str
) -> Iterator[list[HomeroomError]]:
    """Expect an error of one kind.

    Args:
        kind: Of which class.
        what: What should be refused, for the failure's message.

    Yields:
        A list that holds the error after the block.
    """
    caught: list[HomeroomError] = []
    try:
        yield caught
    except kind as error:
        caught.append(error)
        return
    raise AssertionError(f"not refused: {what}")


def explained(error: BaseException) -> str:
    """Put an error into words as a log would have it: with its hint, its causes, its places."""
    hint = getattr(error, "hint", None) or ""
    return "".join(traceback.format_exception(error)) + hint
