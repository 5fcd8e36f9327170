"""The adapter for Claude Code.

Sources: the files and variables of Claude Code 2.1.332 as measured in a sandbox with a
model server in place of the vendor; each coupling is listed, with the test that
re-verifies it, in ``docs/compat/claude.md``.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from homeroom import home
from homeroom.credential.secret import Credential, Secret
from homeroom.errors import CredentialError, StateError, StorageError
from homeroom.files import read_regular
from homeroom.provider import MasterStore, Needs, Room, SeedFile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_STATE = ".claude/.claude.json"
_CREDENTIALS = ".claude/.credentials.json"
_LIMIT = 64 * 1024 * 1024
# Claude Code remembers an approved API key by its last 20 characters.
_KEY_TAIL = 20


class Claude:
    """Claude Code."""

    name = "claude"
    tool = "claude"

    def environment(self, room: Room) -> Mapping[str, str]:
        """Pin the configuration directory; switch off updates and calls that no turn needs.

        The directory is never empty: that would mean the working directory.
        """
        values = {
            "CLAUDE_CONFIG_DIR": str(room.home / ".claude"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_UPDATES": "1",
            # The sandbox makes root harmless to the machine; without this variable the
            # CLI refuses, as root, the permission mode that a user may ask for.
            "IS_SANDBOX": "1",
        }
        if room.endpoint is not None:
            values["ANTHROPIC_BASE_URL"] = room.endpoint
        return values

    def seed(self, room: Room) -> Sequence[SeedFile]:
        """Answer onboarding, theme, folder trust and the upsells that would come first."""
        trusted = {"hasTrustDialogAccepted": True, "allowedTools": []}
        return (
            SeedFile(
                _STATE,
                {
                    "hasCompletedOnboarding": True,
                    "lastOnboardingVersion": room.version,
                    "theme": "dark",
                    "autoUpdates": False,
                    "fullscreenUpsellSeenCount": 3,
                    "hasSeenAutoDefaultNotice": True,
                    "projects": {str(root): trusted for root in room.workspace.trust_roots},
                },
            ),
        )

    def master_store(self, environ: Mapping[str, str], user_home: Path) -> MasterStore:
        """Name ``~/.claude`` and ``~/.claude.json``, and where variables have moved them."""
        moved = ("CLAUDE_CONFIG_DIR", "CLAUDE_SECURESTORAGE_CONFIG_DIR")
        names = [".claude", *(environ[name] for name in moved if environ.get(name))]
        directories = [user_home / name for name in names]
        states = [user_home / ".claude.json", *(path / ".claude.json" for path in directories)]
        credentials = [path / ".credentials.json" for path in directories]
        return MasterStore((*directories, *states), (*credentials, *states))

    def discover(self, environ: Mapping[str, str], user_home: Path) -> Credential | None:
        """Read ``.credentials.json`` and, beside it, the account that the CLI remembers."""
        moved = environ.get("CLAUDE_CONFIG_DIR", "")
        directory = user_home / moved if moved else user_home / ".claude"
        secure = environ.get("CLAUDE_SECURESTORAGE_CONFIG_DIR", "")
        path = (user_home / secure if secure else directory) / ".credentials.json"
        state = directory / ".claude.json" if moved else user_home / ".claude.json"
        grant = _read_object(path).get("claudeAiOauth")
        if not isinstance(grant, dict) or not grant.get("accessToken"):
            return None
        account = _read_object(state).get("oauthAccount")
        expires = grant.get("expiresAt")
        return Credential(
            kind="oauth",
            secret=Secret(json.dumps(grant)),
            source=str(path),
            account=json.dumps(account) if isinstance(account, dict) else None,
            expires_at=expires / 1000 if isinstance(expires, int | float) and expires else None,
        )

    def inject(self, room: Room, credential: Credential) -> Mapping[str, Secret]:
        """Write the grant without its refresh token, or approve the key and pass it on.

        A room never holds a refresh token: the CLI would rotate it, and log out every
        other holder of the same grant. With ``refreshToken: null`` it makes no token call,
        not even when the access token has expired (measured, 2.1.198 to 2.1.332).
        """
        if not os.path.isabs(room.home) or not room.home.is_dir():
            raise StateError(f"there is no room at {room.home} to put a credential into")
        if credential.kind == "oauth":
            grant = json.loads(credential.secret.reveal())
            grant["refreshToken"] = None
            home.merge_json(room.home / _CREDENTIALS, {"claudeAiOauth": grant})
            if credential.account is not None:
                account = json.loads(credential.account)
                home.merge_json(room.home / _STATE, {"oauthAccount": account})
            return {}
        if credential.kind == "token":
            return {"CLAUDE_CODE_OAUTH_TOKEN": credential.secret}
        tail = credential.secret.reveal()[-_KEY_TAIL:]
        answers = {"approved": [tail], "rejected": []}
        home.merge_json(room.home / _STATE, {"customApiKeyResponses": answers})
        return {"ANTHROPIC_API_KEY": credential.secret}

    def command(self, room: Room, arguments: Sequence[str]) -> Sequence[str]:
        """Start the native program; the arguments are the user's own."""
        return (str(room.executable), *arguments)

    def needs(self, room: Room) -> Needs:
        """Reach the API and nothing else; the token host stays out, so no grant rotates."""
        if room.endpoint is None:
            return Needs(("api.anthropic.com:443",))
        address = room.endpoint.partition("://")[2].partition("/")[0]
        # The CLI would otherwise take a loopback address for the sandbox's own.
        return Needs((address,), unset=("NO_PROXY", "no_proxy"))

    def demo_credential(self) -> Credential:
        """Return a key in the shape of a real one, so that the CLI takes it."""
        return Credential("api-key", Secret("sk-ant-api03-" + "homeroom-demo-" * 4), "the demo")

    def transcripts(self, home: Path) -> Sequence[Path]:
        """List ``projects/<slug>/*.jsonl``, the agents' below it included."""
        found: list[Path] = []
        for directory, _, names in os.walk(home / ".claude" / "projects"):
            found += [home / directory / name for name in names if name.endswith(".jsonl")]
        return sorted(found)


def _read_object(path: Path) -> dict[str, Any]:
    """Read a JSON object from the user's own store; {} when there is no such file."""
    try:
        text = read_regular(path, _LIMIT, follow=True)
    except FileNotFoundError:
        return {}
    except StorageError as error:
        raise CredentialError(str(error), _CURE) from error
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        # Not the text around the error: it may be a part of a secret.
        reason = getattr(error, "msg", type(error).__name__)
        raise CredentialError(f"{path} is not valid JSON: {reason}", _CURE) from None
    if not isinstance(content, dict):
        raise CredentialError(f"{path} does not hold a JSON object", _CURE)
    return content


_CURE = "repair it with the agent itself, or start with --api-key-env NAME or --no-credentials"
