"""What the user asked for, before anything is decided."""

from pathlib import Path
from typing import Literal

import msgspec

from homeroom.provider import LoginWay


class Request(msgspec.Struct, frozen=True):
    """What the user asked for.

    Attributes:
        agent: The provider's name.
        arguments: For the agent's CLI, as they are.
        directory: Where to work, as given.
        api_key_env: The variable of the caller's that holds an API key, or None.
        use_credentials: Whether any login is looked for.
        inherit: Names of variables of the caller's to pass in.
        seed: Names of preferences to carry, besides those of the configuration.
        profile: Which of the vault's credentials, or None for what is configured.
        endpoint: The base URL of a model server that stands in for the vendor (the demo).
        unattended: Whether nobody is there to be asked anything.
        interactive: Whether a person's terminal is on standard input.
        name: What the user calls the run, or None.
        trial: Whether it is only to see whether the agent starts, or to log in: `list` forgets it.
        run_id: The run's id, where whoever asked has made it up already.
        resume: The transcript of a conversation to go on with, or None.
        worktree: The branch for a worktree of the run's own, "" for a new one; None to
            work where the user is.
        discard: Whether that worktree is removed with all that is in it.
        session: How the run is held.
        container: Whether it is in a container of its own.
        limit: After how many seconds it is ended, or None.
        max_idle: After how many seconds without a word in its transcript, or None.
        allow_untried: Whether a version of the sandbox that nobody tried may be used.
        login: How to log in, where that is what the room is for: it has no workspace but
            its home, and no credential.
    """

    agent: str
    arguments: tuple[str, ...] = ()
    directory: Path = Path()
    api_key_env: str | None = None
    use_credentials: bool = True
    inherit: tuple[str, ...] = ()
    seed: tuple[str, ...] = ()
    profile: str | None = None
    endpoint: str | None = None
    unattended: bool = False
    interactive: bool = False
    name: str | None = None
    trial: bool = False
    run_id: str | None = None
    resume: Path | None = None
    worktree: str | None = None
    discard: bool = False
    session: Literal["foreground", "tmux"] = "foreground"
    container: bool = False
    limit: float | None = None
    max_idle: float | None = None
    allow_untried: bool = False
    login: LoginWay | None = None
