"""What an account's login of the agent looks like, and a whole room read back."""

import base64
import contextlib
import json
import os
from pathlib import Path
from typing import Any

from homeroom.errors import StorageError
from homeroom.files import read_regular


def everything_below(home: Path) -> str:
    """Read all files of a home in which the agent is at work."""
    found = b""
    for parent, _, names in os.walk(home):
        for name in names:
            # It has symlinks to itself there, of hundreds of megabytes each.
            with contextlib.suppress(OSError, StorageError):
                found += read_regular(Path(parent, name), 1 << 26)
    return found.decode(errors="replace")


def grant(renewal: str) -> dict[str, Any]:
    header, claims = (
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
        for part in ({"alg": "RS256"}, {"exp": 4102444800, "email": "me@example.invalid"})
    )
    token = f"{header}.{claims}.c2lnbmF0dXJl"
    tokens = {"id_token": token, "access_token": token, "refresh_token": renewal}
    return {
        "auth_mode": "chatgpt",
        "OPENAI_API_KEY": None,
        "tokens": {**tokens, "account_id": "account-1"},
        "last_refresh": "2026-11-30T00:00:00Z",
    }
