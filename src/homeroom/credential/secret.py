"""A value that must not be seen: every way to print it shows a mask."""

import json
from collections.abc import Iterator
from typing import Literal, NoReturn

import msgspec

MASK = "********"


def digest(text: str) -> str:
    """Return 8 hex digits that tell two secrets apart and give neither away."""
    import hashlib

    # A value of the environment may hold bytes that are no UTF-8.
    content = text.encode(errors="surrogatepass")
    return hashlib.sha256(b"homeroom\0" + content).hexdigest()[:8]


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
        return digest(self._value)

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


class Credential(msgspec.Struct, frozen=True):
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
        return tuple(_secret_texts(json.loads(self.secret.reveal())))

    def supersedes(self, other: "Credential", account_key: str) -> bool:
        """Tell whether this is a newer grant of the same account.

        Args:
            other: The grant that is kept now.
            account_key: Which key of the account's document names it.

        Returns:
            False as well when one of them is no grant, or when this one holds nothing to
            renew it with: it would be worth less than the other.
        """
        if self.kind != "oauth" or other.kind != "oauth" or not self.can_renew():
            return False
        if self.account_name(account_key) != other.account_name(account_key):
            return False
        return (self.expires_at or 0.0) > (other.expires_at or 0.0)

    def can_renew(self) -> bool:
        """Tell whether the grant holds what it takes to renew it."""
        return self.grant() is not None

    def grant(self) -> str | None:
        """Tell a grant from others by 8 hex digits of what renews it.

        Returns:
            The digest, or None when there is nothing to renew it with.
        """
        if self.kind != "oauth":
            return None
        document = json.loads(self.secret.reveal())
        inner = document.get("tokens", document)
        if not isinstance(inner, dict):
            return None
        renewal = inner.get("refreshToken") or inner.get("refresh_token")
        return digest(renewal) if isinstance(renewal, str) and renewal else None

    def account_name(self, key: str) -> object:
        """Read what names the account; None when nothing does."""
        return json.loads(self.account).get(key) if self.account else None


def _secret_texts(value: object) -> Iterator[str]:
    if not isinstance(value, dict):
        return
    for name, inner in value.items():
        if isinstance(inner, str) and inner and name.lower().endswith(("token", "key")):
            yield inner
        yield from _secret_texts(inner)
