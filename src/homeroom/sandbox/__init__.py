"""The seam to the sandbox: a policy goes in, a command that is confined comes out."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from homeroom.certificates import Bundle
from homeroom.credential.secret import Secret
from homeroom.home import Instance
from homeroom.policy import Policy
from homeroom.proxy import Upstream
from homeroom.toolchain.store import Toolchain

Mode = Literal["exec", "job"]


class Inside(msgspec.Struct, frozen=True):
    """What shall run inside, and what must be true there before it does.

    Attributes:
        argv: The agent's command line, each argument as it shall arrive.
        environment: Its variables; secrets travel as such.
        unset: Variables of the sandbox's own to remove.
        workspace: Where it starts.
        unreadable: Non-empty files that exist and that it must not be able to read.
        unwritable: Files that do not exist and that it must not be able to make.
    """

    argv: Sequence[str]
    environment: Mapping[str, str | Secret]
    unset: Sequence[str]
    workspace: Path
    unreadable: Sequence[Path]
    unwritable: Sequence[Path]

    def carrying(self, more: Mapping[str, Secret]) -> "Inside":
        """Return the same with variables that carry a credential."""
        return msgspec.structs.replace(self, environment={**self.environment, **more})


class Command(msgspec.Struct, frozen=True):
    """A process to start that confines what it starts.

    Attributes:
        argv: Its command line. No secret is in it.
        environment: Its whole environment. No secret is in it.
        directory: Its working directory.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str] = {}
    directory: Path = Path("/")


class Sandbox(Protocol):
    """An adapter for one sandbox."""

    def settings(self, policy: Policy) -> bytes:
        """Render a policy in the sandbox's own terms, to be shown. Pure: writes nothing.

        Raises:
            SandboxError: The policy asks for what this sandbox cannot guarantee.
        """

    def command(self, instance: Instance, mode: Mode) -> Command:
        """Give the process that confines the run. Pure: writes nothing."""

    def prepare(self, instance: Instance, policy: Policy, inside: Inside) -> None:
        """Write what the command needs into the instance's runtime directory.

        Raises:
            SandboxError: What was written does not read back as what was meant.
            StateError: The runtime directory cannot be used.
            StorageError: It could not be written.
        """


class Host(msgspec.Struct, frozen=True):
    """What a sandbox adapter needs of the machine.

    Attributes:
        toolchain: The pinned tools.
        programs: Tools of the system by name, with their paths.
        path: The PATH for the sandbox's own processes.
        upstream: The proxy that the sandbox's own has to go through, or None.
        certificates: The authorities to trust, where not the system's alone.
        allow_untried: Whether a version of the sandbox outside of what was tried may be
            used: for the version matrix, which tries them, and for a user who says so.
    """

    toolchain: Toolchain
    programs: Mapping[str, Path]
    path: str
    upstream: Upstream | None = None
    certificates: Bundle | None = None
    allow_untried: bool = False
