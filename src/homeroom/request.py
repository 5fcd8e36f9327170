"""What the user asked for, before anything is decided."""

from dataclasses import dataclass
from pathlib import Path

from homeroom.provider import LoginWay


@dataclass(frozen=True)
class Request:
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
        interactive: Whether a person's terminal is on standard input.
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
    interactive: bool = False
    login: LoginWay | None = None
