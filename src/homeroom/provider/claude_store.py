"""Where Claude Code keeps a user's own login, and what it looks like."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from homeroom.credential.secret import Credential, Secret
from homeroom.errors import CredentialError
from homeroom.provider import common


def master(environ: Mapping[str, str], user_home: Path) -> tuple[Path, Path]:
    """Tell the user's configuration directory and the state file that goes with it.

    Args:
        environ: The caller's environment, which may have moved them.
        user_home: The user's real home.
    """
    moved = environ.get("CLAUDE_CONFIG_DIR", "")
    if moved:
        return user_home / moved, user_home / moved / ".claude.json"
    return user_home / ".claude", user_home / ".claude.json"


def read_master(environ: Mapping[str, str], user_home: Path) -> tuple[Path, dict[str, Any]]:
    """Read the file with the user's grant.

    Args:
        environ: The caller's environment, which may have moved it.
        user_home: The user's real home.

    Returns:
        The file, which need not exist, and what it holds.

    Raises:
        CredentialError: It cannot be read or is no JSON object.
    """
    secure = environ.get("CLAUDE_SECURESTORAGE_CONFIG_DIR", "")
    directory = user_home / secure if secure else master(environ, user_home)[0]
    path = directory / ".credentials.json"
    return path, common.read_user_object(path)


def _is_moment(value: object) -> bool:
    # Up to the year 9999 in milliseconds; JSON has numbers that no clock shows.
    return isinstance(value, int | float) and 0 <= value < 10_000 * 366 * 86_400_000


def as_credential(grant: dict[str, Any], account: object, path: Path) -> Credential:
    """Make a credential of a grant with an access token.

    Args:
        grant: As the CLI writes it.
        account: What the CLI remembers of the account, if that is an object.
        path: The file that it is from.

    Raises:
        CredentialError: The token is no text, or its end no time.
    """
    if not isinstance(grant["accessToken"], str):
        raise CredentialError(f"{path}: accessToken is not a text", common.CURE)
    expires = grant.get("expiresAt")
    if expires is not None and not _is_moment(expires):
        raise CredentialError(f"{path}: expiresAt is not a time", common.CURE)
    return Credential(
        kind="oauth",
        secret=Secret(json.dumps(grant)),
        source=str(path),
        account=json.dumps(account) if isinstance(account, dict) else None,
        expires_at=expires / 1000 if expires else None,
    )
