"""A credential as the text that the vault keeps: versioned, and decoded strictly."""

import json
import math

import msgspec

from homeroom.credential.secret import Credential, CredentialKind, Secret
from homeroom.errors import CredentialError

SCHEMA = 1


class _Version(msgspec.Struct, frozen=True):
    schema: int


class _Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    schema: int
    kind: CredentialKind
    secret: str
    account: str | None = None
    expires_at: float | None = None


def encode(credential: Credential) -> str:
    """Write a credential down, secret and all; where it came from is left out.

    Args:
        credential: What to keep.

    Returns:
        A text for a keyring or a private file, and for nothing else.
    """
    document = _Document(
        schema=SCHEMA,
        kind=credential.kind,
        secret=credential.secret.reveal(),
        account=credential.account,
        expires_at=credential.expires_at,
    )
    return msgspec.json.encode(document).decode()


def decode(text: str, name: str, source: str, cure: str) -> Credential:
    """Read a credential back.

    Args:
        text: As it was kept.
        name: Which entry it is, for the message.
        source: The credential's source, for people.
        cure: What the user can do when it is damaged.

    Returns:
        The credential.

    Raises:
        CredentialError: It is damaged or of a newer homeroom. Nothing of the content, not
            even the decoder's own message, is in the error.
    """
    damaged = CredentialError(f"{name} is damaged", cure)
    try:
        if msgspec.json.decode(text, type=_Version).schema > SCHEMA:
            raise CredentialError(f"{name} was saved by a newer homeroom", "upgrade this one")
        document = msgspec.json.decode(text, type=_Document)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise damaged from None
    expires_at = document.expires_at
    is_sound = document.schema == SCHEMA and document.secret and _fits(document)
    if not is_sound or (expires_at is not None and not math.isfinite(expires_at)):
        raise damaged
    return Credential(document.kind, Secret(document.secret), source, document.account, expires_at)


def _fits(document: _Document) -> bool:
    """Tell whether what must be a JSON object is one: a grant, and the account beside it."""
    texts = [document.secret] if document.kind == "oauth" else []
    texts += [document.account] if document.account is not None else []
    try:
        return all(isinstance(json.loads(text), dict) for text in texts)
    except (ValueError, RecursionError):
        return False
