"""The seam to the agents: what homeroom asks of an adapter, and which adapters there are.

An adapter is one module with a class that satisfies ``Provider``, and one line in the
registry below. Every function that reads or writes state is given the room's home and
never falls back to the user's own.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from homeroom.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from homeroom.credential.secret import Credential, Secret
    from homeroom.workspace import Workspace

DEFAULT = "claude"
_REGISTRY = {"claude": "homeroom.provider.claude:Claude"}


@dataclass(frozen=True)
class Room:
    """What an adapter is told about a run.

    Attributes:
        home: The instance home, absolute; it need not exist while a run is planned.
        workspace: Where the agent works.
        version: The pinned version of the agent's CLI.
        executable: The pinned CLI itself.
        endpoint: The base URL of a model server to use instead of the vendor's, or None.
    """

    home: Path
    workspace: Workspace
    version: str
    executable: Path
    endpoint: str | None = None


@dataclass(frozen=True)
class SeedFile:
    """A file that lets the CLI start without asking.

    Attributes:
        path: Relative to the instance home.
        patch: JSON keys to merge into it.
    """

    path: str
    patch: Mapping[str, Any]


@dataclass(frozen=True)
class Needs:
    """What an adapter asks of the sandbox.

    Attributes:
        hosts: Hosts that the CLI must reach.
        unset: Variables of the sandbox's own to remove before the CLI starts.
    """

    hosts: tuple[str, ...]
    unset: tuple[str, ...] = ()


@dataclass(frozen=True)
class MasterStore:
    """Where a provider keeps the user's own credentials and state.

    Attributes:
        roots: Directories and files that belong to it, whether they exist or not.
        secrets: Those files among them that hold a credential.
    """

    roots: tuple[Path, ...] = ()
    secrets: tuple[Path, ...] = field(default=())


class Provider(Protocol):
    """An adapter for one agent's command line program. It keeps no state."""

    @property
    def name(self) -> str:
        """The word by which users call it."""

    @property
    def tool(self) -> str:
        """The name of its CLI in the toolchain."""

    def environment(self, room: Room) -> Mapping[str, str]:
        """Give the variables that pin the CLI to the room and keep it from updating itself.

        They hold whatever the caller's environment says.
        """

    def seed(self, room: Room) -> Sequence[SeedFile]:
        """Give the files that keep every first-run dialog away. Pure: writes nothing."""

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
            room: The room, whose home exists.
            credential: What to put there.

        Returns:
            Variables that carry a part of it, for the inner environment.

        Raises:
            StateError: The home does not exist: never the user's own store instead.
            StorageError: It could not be written.
        """

    def command(self, room: Room, arguments: Sequence[str]) -> Sequence[str]:
        """Give the argv that starts the CLI in the room."""

    def needs(self, room: Room) -> Needs:
        """Give what the CLI asks of the sandbox."""

    def demo_credential(self) -> Credential:
        """Give a credential without worth, which the demo's model server accepts."""

    def transcripts(self, home: Path) -> Sequence[Path]:
        """List the transcripts that the CLI wrote below a room's home, none if it is empty."""


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
        raise UsageError(
            f"there is no agent {name!r}", f"the agents are: {', '.join(names())}"
        ) from None
    adapter: Provider = getattr(importlib.import_module(module), attribute)()
    return adapter
