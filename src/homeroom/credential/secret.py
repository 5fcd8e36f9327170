"""A value that must not be seen: every way to print it shows a mask."""

import json
from dataclasses import dataclass
from typing import Literal, NoReturn

MASK = "********"


class Secret:
    """A secret text. Only ``reveal`` gives it away.

    Args:
        value: The secret.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the secret, to be written into a private file and nowhere else."""
        return self._value

    def digest(self) -> str:
        """Return 8 hex digits that tell two secrets apart and give neither away."""
        import hashlib

        return hashlib.sha256(b"homeroom\0" + self._value.encode()).hexdigest()[:8]

    def __repr__(self) -> str:
        return f"Secret({MASK})"

    def __str__(self) -> str:
        return MASK

    def __format__(self, spec: str) -> str:
        return format(MASK, spec)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return self._value == other._value

    def __hash__(self) -> int:
        return hash(("homeroom", self._value))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret cannot be pickled")


CredentialKind = Literal["api-key", "token", "oauth"]


@dataclass(frozen=True)
class Credential:
    """What an agent proves its identity with.

    Attributes:
        kind: An API key, a long-lived token, or an OAuth grant.
        secret: The key, the token, or the provider's own JSON document of the grant.
        source: Where it came from, for people: a file or the name of a variable.
        account: What the provider's CLI remembers about the account beside the grant
            (not secret), as a JSON document; None where there is nothing.
        expires_at: When an access token stops working, in seconds since the epoch.
    """

    kind: CredentialKind
    secret: Secret
    source: str
    account: str | None = None
    expires_at: float | None = None

    def values(self) -> tuple[str, ...]:
        """List the secret texts in it, to be replaced wherever they turn up."""
        if self.kind != "oauth":
            return (self.secret.reveal(),)
        document = json.loads(self.secret.reveal())
        return tuple(
            value
            for name, value in document.items()
            if isinstance(value, str) and name.lower().endswith("token")
        )
