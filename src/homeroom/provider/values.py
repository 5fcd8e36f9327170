"""The values that pass between homeroom and an adapter."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from homeroom.credential.secret import CredentialKind
from homeroom.workspace import Workspace


class Options(msgspec.Struct, frozen=True):
    """What the user decided about a room, as far as an adapter must know it.

    Attributes:
        full_credentials: Whether the room holds the whole grant, renewal included.
        bypass_permissions: Whether the agent was told to ask for no permission.
        attribution: Whether the agent may sign commits and pull requests with its name.
    """

    full_credentials: bool = False
    bypass_permissions: bool = False
    attribution: bool = True


class Room(msgspec.Struct, frozen=True):
    """What an adapter is told about a run.

    Attributes:
        home: The instance home, absolute; it need not exist while a run is planned.
        workspace: Where the agent works.
        version: The pinned version of the agent's CLI.
        executable: The pinned CLI itself.
        endpoint: The base URL of a model server to use instead of the vendor's, or None.
        options: What the user decided.
    """

    home: Path
    workspace: Workspace
    version: str
    executable: Path
    endpoint: str | None = None
    options: Options = Options()


class SeedFile(msgspec.Struct, frozen=True):
    """A file for a room: keys to merge into JSON or TOML, or a whole content.

    Attributes:
        path: Relative to the instance home.
        patch: Keys to merge, every other key kept; the path ends in .json or .toml.
        content: The whole content, where there is no patch.
    """

    path: str
    patch: Mapping[str, Any] | None = None
    content: bytes = b""


class Needs(msgspec.Struct, frozen=True):
    """What an adapter asks of the sandbox.

    Attributes:
        hosts: Hosts that the CLI must reach.
        unset: Variables of the sandbox's own to remove before the CLI starts.
    """

    hosts: tuple[str, ...]
    unset: tuple[str, ...] = ()


class Surfaces(msgspec.Struct, frozen=True):
    """Files outside of a room's home that a CLI obeys.

    Attributes:
        machine: Paths of the machine's administrator, read in every room.
        inherited: Names that are looked for in every directory above the workspace.
        obeyed: Names in a work tree by which a run could make the CLI execute something
            later, in another room or outside of any.
    """

    machine: tuple[str, ...] = ()
    inherited: tuple[str, ...] = ()
    obeyed: tuple[str, ...] = ()


class MasterStore(msgspec.Struct, frozen=True):
    """Where a provider keeps the user's own credentials and state.

    Attributes:
        roots: Directories and files that belong to it, whether they exist or not.
        secrets: Those files among them that hold a credential.
    """

    roots: tuple[Path, ...] = ()
    secrets: tuple[Path, ...] = ()


class LoginWay(msgspec.Struct, frozen=True):
    """One way to log in with the CLI itself, in a room of its own.

    Attributes:
        name: The word by which users choose it.
        arguments: The CLI's arguments.
        hosts: Hosts that it must reach besides the usual ones.
        kind: What it yields.
    """

    name: str
    arguments: tuple[str, ...]
    hosts: tuple[str, ...]
    kind: CredentialKind = "oauth"


class Message(msgspec.Struct, frozen=True):
    """One message of a conversation.

    Attributes:
        role: Who said it.
        text: What was said; of a tool call its name and input, of a result its output.
        at: When, as the CLI wrote it down (RFC 3339), or None.
    """

    role: Literal["user", "assistant", "tool call", "tool result"]
    text: str
    at: str | None = None


class SlashCommand(msgspec.Struct, frozen=True):
    """Something that can be called by name in the agent's prompt.

    Attributes:
        name: Without the slash.
        kind: Whether it is a command or a skill.
        origin: Whether it comes with the agent, the room's home or the workspace.
        path: The file that defines it; None for the agent's own.
    """

    name: str
    kind: Literal["command", "skill"]
    origin: Literal["built-in", "user", "project"]
    path: Path | None


class DeepLink(msgspec.Struct, frozen=True):
    """An address on the vendor's site.

    Attributes:
        url: The address.
        is_generic: Whether it leads only to a list in which the conversation is.
    """

    url: str
    is_generic: bool
