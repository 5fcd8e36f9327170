"""The seam to the agents: what homeroom asks of an adapter, and which adapters there are.

An adapter is one module with a class that satisfies ``Provider``, and one line in the
registry below. Every function that reads or writes a room is given the room's home and
never falls back to the user's own: in an empty home reads find nothing, in a missing one
writes raise. ``homeroom.testing`` holds the conformance kit that says the same in tests.
"""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Protocol

from homeroom.errors import UsageError
from homeroom.provider.values import (
    DeepLink,
    LoginWay,
    MasterStore,
    Message,
    Needs,
    Options,
    Room,
    SeedFile,
    SlashCommand,
    Surfaces,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from homeroom.credential.secret import Credential, CredentialKind, Secret

__all__ = [
    "DEFAULT",
    "DeepLink",
    "LoginWay",
    "MasterStore",
    "Message",
    "Needs",
    "Options",
    "Provider",
    "Room",
    "SeedFile",
    "SlashCommand",
    "Surfaces",
    "get",
    "names",
]

DEFAULT = "claude"
# Like a name that was mistyped; keys have digits, and are longer.
_SHAPE = re.compile(r"[A-Za-z]{1,16}")
_REGISTRY = {
    "claude": "homeroom.provider.claude:Claude",
    "codex": "homeroom.provider.codex:Codex",
}


class Provider(Protocol):
    """An adapter for one agent's command line program. It keeps no state."""

    @property
    def name(self) -> str:
        """The word by which users call it."""

    @property
    def tool(self) -> str:
        """The name of its CLI in the toolchain."""

    @property
    def account_key(self) -> str:
        """Which key of a credential's ``account`` document names the account."""

    @property
    def interrupt_key(self) -> str:
        """The key, by tmux's name, that stops what the agent is doing and keeps it running."""

    # --- the room -----------------------------------------------------------------

    def environment(self, room: Room) -> Mapping[str, str]:
        """Give the variables that pin the CLI to the room and keep it from updating itself.

        They hold whatever the caller's environment says.
        """

    def seed(self, room: Room) -> Sequence[SeedFile]:
        """Give the files that keep every first-run dialog away. Pure: writes nothing.

        Applying them twice, or before or after an injection, gives the same room.
        """

    def preferences(
        self, environ: Mapping[str, str], user_home: Path, names: Sequence[str], *, hooks: bool
    ) -> Sequence[SeedFile]:
        """Give chosen preferences of the user's as files for a room. Writes nothing.

        Args:
            environ: The caller's environment, which may have moved the user's store.
            user_home: The user's real home.
            names: Some of ``settings``, ``commands``, ``agents``, ``skills``,
                ``instructions``, ``mcp``; what this agent does not have is left out.
            hooks: Whether hooks and credential helpers, which run programs, come along.

        Returns:
            The files. No secret is in them: credentials of MCP servers are left out.

        Raises:
            CredentialError: A file of the user's cannot be read; it is named.
        """

    def command(self, room: Room, arguments: Sequence[str]) -> Sequence[str]:
        """Give the argv that starts the CLI in the room."""

    def unattended(self, prompt: str) -> Sequence[str]:
        """Give arguments by which the CLI does one thing, asks nobody, and ends on its own.

        The sandbox is what confines it then.
        """

    def needs_login(
        self,
        room: Room,
        arguments: Sequence[str],
        passed: Collection[str],
        seeds: Sequence[SeedFile],
    ) -> bool:
        """Tell whether arguments can only fail in a room that is logged out.

        True only where that is certain: the CLI would ask its vendor's model and end, with
        nobody there to log in, and nothing else lets it in (a variable, another model's
        address in an argument or a file). What asks no model needs no login.

        Args:
            room: The room, as planned.
            arguments: The user's own for the CLI.
            passed: Names of the user's variables that the room gets.
            seeds: What will be written into the room.
        """

    def resume(
        self, room: Room, transcript: Path, arguments: Sequence[str]
    ) -> tuple[SeedFile, Sequence[str]]:
        """Give what continues an earlier conversation in a new room.

        Args:
            room: The new room.
            transcript: A transcript of an earlier one.
            arguments: The user's own for the CLI.

        Returns:
            The transcript as a seed, and the arguments that make the CLI go on with it.

        Raises:
            StorageError: The transcript cannot be read.
        """

    def needs(self, room: Room) -> Needs:
        """Give what the CLI asks of the sandbox.

        The hosts that renew a grant are among them only in a room that holds all of it.
        """

    def health_check(self, room: Room) -> str | None:
        """Tell why a seeded room would not start at the prompt; None when it would."""

    def surfaces(self) -> Surfaces:
        """Name the files outside of the room's home that the CLI obeys."""

    def is_at_prompt(self, screen: str) -> bool:
        """Tell whether a terminal's text shows the CLI's own prompt, ready for a person."""

    # --- credentials ----------------------------------------------------------------

    def master_store(self, environ: Mapping[str, str], user_home: Path) -> MasterStore:
        """Name the places of the user's own store, so that a run can be kept out of them.

        Args:
            environ: The caller's environment, which may have moved the store.
            user_home: The user's real home.
        """

    def discover(self, environ: Mapping[str, str], user_home: Path) -> Credential | None:
        """Read the credential in the user's own store. Writes nothing.

        Returns:
            The credential, or None when there is none or it is a logged-out stub.

        Raises:
            CredentialError: Something is there and cannot be used; it is named.
        """

    def inject(self, room: Room, credential: Credential) -> Mapping[str, Secret]:
        """Put a credential into the room, 0600 in directories 0700, keeping other keys.

        Args:
            room: The room, whose home exists. Unless it holds full credentials, what
                renews a grant stays out.
            credential: What to put there.

        Returns:
            Variables that carry a part of it, for the inner environment.

        Raises:
            StateError: The home does not exist: never the user's own store instead.
            StorageError: It could not be written.
        """

    def signature(self, home: Path) -> str | None:
        """Give a text that changes when, and only when, the credential in a home does.

        Returns:
            A digest, or None when the home holds no credential.
        """

    def collect(self, home: Path) -> Credential | None:
        """Read the credential that a CLI left in a room's home.

        Returns:
            The credential, or None when there is none, a stub, or something unreadable:
            an agent wrote it, so it is not trusted to be sound.
        """

    def restore(self, environ: Mapping[str, str], user_home: Path, renewed: Credential) -> bool:
        """Put a grant that a full room renewed back into the user's own store.

        Args:
            environ: The caller's environment.
            user_home: The user's real home.
            renewed: The grant.

        Returns:
            Whether it was written: not when the store holds a newer one, another
            account's, or none.

        Raises:
            CredentialError: The store cannot be read.
            OSError: It cannot be written; it is as it was.
        """

    def login_ways(self) -> Sequence[LoginWay]:
        """List the ways of the CLI's own to log in, the default first."""

    def check_shape(self, kind: CredentialKind, secret: Secret) -> str | None:
        """Tell why a text cannot be a key or token of this provider; None when it can."""

    def probe(self, credential: Credential) -> tuple[str, Mapping[str, Secret | str]]:
        """Give a URL and headers for one request that a valid credential is let through."""

    def demo_credential(self) -> Credential:
        """Give a credential without worth, which the demo's model server accepts."""

    # --- what a run leaves ------------------------------------------------------------

    def transcripts(self, home: Path) -> Sequence[Path]:
        """List the transcripts that the CLI wrote below a room's home, none if it is empty."""

    def locate_transcript(
        self, home: Path, workspace: Path, session: str | None = None
    ) -> Path | None:
        """Find one transcript below a room's home.

        Args:
            home: The instance home.
            workspace: Where the agent worked.
            session: The CLI's own id of the conversation; None for the newest.
        """

    def read_transcript(self, lines: Iterator[bytes]) -> Iterator[Message]:
        """Read a transcript's lines as messages; a line that is none is passed over."""

    def commands(self, home: Path, workspace: Path) -> Sequence[SlashCommand]:
        """List the slash commands and skills in the room's home and the workspace."""

    def deep_link(self, home: Path) -> DeepLink | None:
        """Find the address of the run's conversation on the vendor's site, if it has any."""


def names() -> tuple[str, ...]:
    """List the agents there is an adapter for."""
    return tuple(sorted(_REGISTRY))


def get(name: str) -> Provider:
    """Load an adapter.

    Args:
        name: As registered.

    Returns:
        The adapter.

    Raises:
        UsageError: There is none of that name.
    """
    try:
        module, _, attribute = _REGISTRY[name].partition(":")
    except KeyError:
        import difflib

        near = difflib.get_close_matches(name, names(), n=1)
        known = f"the agents are: {', '.join(names())}"
        hint = f"did you mean {near[0]}? {known}" if near else known
        # It may be a key or a prompt that came to the wrong place: no word for a screen or a log.
        called = repr(name) if _SHAPE.fullmatch(name) else "of that name"
        raise UsageError(f"there is no agent {called}", hint) from None
    adapter: Provider = getattr(importlib.import_module(module), attribute)()
    return adapter
