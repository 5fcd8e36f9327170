"""The adapter for Claude Code.

Sources: the files and variables of Claude Code 2.1.332 as measured in a sandbox with a
model server in place of the vendor; each coupling is listed, with the test that
re-verifies it, in ``docs/compat/claude.md``.
"""

from __future__ import annotations

import contextlib
import json
import re
from typing import TYPE_CHECKING, Any

from homeroom import seeding
from homeroom.credential.secret import Credential, Secret, digest
from homeroom.errors import CredentialError
from homeroom.provider import claude_access, claude_store, claude_transcript, common
from homeroom.provider.claude_preferences import preferences
from homeroom.provider.values import (
    DeepLink,
    LoginWay,
    MasterStore,
    Needs,
    Room,
    SeedFile,
    Surfaces,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from homeroom.credential.secret import CredentialKind
    from homeroom.provider.values import Message, SlashCommand

_STATE = ".claude/.claude.json"
_SETTINGS = ".claude/settings.json"
_CREDENTIALS = ".claude/.credentials.json"
_PROJECTS = ".claude/projects"
# Claude Code remembers an approved API key by its last 20 characters.
_KEY_TAIL = 20
_TOKEN_HOSTS = ("platform.claude.com:443", "console.anthropic.com:443")
_SHAPES = {
    "api-key": re.compile(r"sk-ant-(?!oat|ort)[A-Za-z0-9_-]{20,}"),
    "token": re.compile(r"sk-ant-oat[0-9]{2}-[A-Za-z0-9_-]{20,}"),
}
_SESSION = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# projects/<slug>/<session>/subagents/<agent>.jsonl is the deepest.
_TRANSCRIPT_DEPTH = 5
_SITE = "https://claude.ai/code"


class Claude:
    """Claude Code."""

    name = "claude"
    tool = "claude"
    interrupt_key = "Escape"
    account_key = "accountUuid"

    def environment(self, room: Room) -> Mapping[str, str]:
        """Pin the configuration directories; switch off updates and calls that no turn needs.

        The directories are never empty: that would mean the working directory.
        """
        values = {
            "CLAUDE_CONFIG_DIR": str(room.home / ".claude"),
            "CLAUDE_SECURESTORAGE_CONFIG_DIR": str(room.home / ".claude"),
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
        """Answer onboarding, theme, trust, the project's MCP servers and the upsells.

        The sandbox is what confines a project's MCP servers, so that they need no dialog.
        """
        trusted = {"hasTrustDialogAccepted": True, "allowedTools": []}
        state: dict[str, Any] = {
            "hasCompletedOnboarding": True,
            "lastOnboardingVersion": room.version,
            "theme": "dark",
            "autoUpdates": False,
            "fullscreenUpsellSeenCount": 3,
            "hasSeenAutoDefaultNotice": True,
            "projects": {str(root): trusted for root in room.workspace.trust_roots},
        }
        settings: dict[str, Any] = {"enableAllProjectMcpServers": True}
        if room.options.bypass_permissions:
            state["bypassPermissionsModeAccepted"] = True
            settings["skipDangerousModePermissionPrompt"] = True
        if not room.options.attribution:
            settings["includeCoAuthoredBy"] = False
            settings["attribution"] = {"commit": "", "pr": ""}
        return (SeedFile(_STATE, state), SeedFile(_SETTINGS, settings))

    def preferences(
        self, environ: Mapping[str, str], user_home: Path, names: Sequence[str], *, hooks: bool
    ) -> Sequence[SeedFile]:
        """Carry chosen files of the user's configuration directory."""
        directory, state = claude_store.master(environ, user_home)
        return preferences(directory, state, names, hooks=hooks)

    def command(self, room: Room, arguments: Sequence[str]) -> Sequence[str]:
        """Start the native program; the arguments are the user's own."""
        return (str(room.executable), *arguments)

    def unattended(self, prompt: str) -> Sequence[str]:
        """Print the answer, with every permission that the sandbox leaves."""
        return ("-p", prompt, "--dangerously-skip-permissions")

    def needs_login(
        self,
        room: Room,
        arguments: Sequence[str],
        passed: Collection[str],
        seeds: Sequence[SeedFile],
    ) -> bool:
        """Look for what asks once and ends, with nothing that lets it in."""
        if not claude_access.asks_once(arguments):
            return False
        machine = self.surfaces().machine
        return not common.is_let_in(room, passed, seeds, machine, claude_access.ELSEWHERE)

    def resume(
        self, room: Room, transcript: Path, arguments: Sequence[str]
    ) -> tuple[SeedFile, Sequence[str]]:
        """Put the file where the workspace's are; the CLI finds it by its name there."""
        name = claude_transcript.slug(str(room.workspace.directory))
        path = f".claude/projects/{name}/{transcript.name}"
        seed = SeedFile(path, content=common.read_transcript_file(transcript))
        return seed, ("--resume", transcript.stem, *arguments)

    def needs(self, room: Room) -> Needs:
        """Reach the API; the token hosts only where the room may renew its grant."""
        if room.endpoint is None:
            renewal = _TOKEN_HOSTS if room.options.full_credentials else ()
            return Needs(("api.anthropic.com:443", *renewal))
        address = room.endpoint.partition("://")[2].partition("/")[0]
        # The CLI would otherwise take a loopback address for the sandbox's own.
        return Needs((address,), unset=("NO_PROXY", "no_proxy"))

    def health_check(self, room: Room) -> str | None:
        """Look for the answers to the dialogs, and for a credential file's mode."""
        state = common.read_room_object(room.home, _STATE)
        if state.get("hasCompletedOnboarding") is not True:
            return f"{_STATE} does not say that onboarding is done"
        projects = state.get("projects")
        for root in room.workspace.trust_roots:
            entry = projects.get(str(root)) if isinstance(projects, dict) else None
            if not isinstance(entry, dict) or entry.get("hasTrustDialogAccepted") is not True:
                return f"{_STATE} does not trust {root}"
        return None

    def surfaces(self) -> Surfaces:
        """Name what is read whatever HOME and the pins say (measured, 2.1.332)."""
        managed = ("managed-settings.json", "managed-settings.d", "managed-mcp.json")
        names = (*managed, "CLAUDE.md", ".claude")
        return Surfaces(
            machine=(
                *(f"/etc/claude-code/{name}" for name in names),
                "/Library/Application Support/ClaudeCode",
            ),
            inherited=("CLAUDE.md", "AGENTS.md", ".claude", ".mcp.json"),
            # A project's settings hold hooks.
            obeyed=(".claude/settings.json", ".claude/settings.local.json"),
        )

    def is_at_prompt(self, screen: str) -> bool:
        """Look for the input line, with one of the hints that stand below it and no dialog's."""
        hints = ("shift+tab", "? for shortcuts", "/effort")
        # The second mark is that of 2.0.
        is_open = bool(re.search(r"^(\u276f|>\s)", screen, re.MULTILINE))
        return is_open and any(hint in screen for hint in hints) and "to confirm" not in screen

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
        path, document = claude_store.read_master(environ, user_home)
        grant = document.get("claudeAiOauth")
        if not isinstance(grant, dict) or not grant.get("accessToken"):
            return None
        account = common.read_user_object(claude_store.master(environ, user_home)[1]).get(
            "oauthAccount"
        )
        return claude_store.as_credential(grant, account, path)

    def inject(self, room: Room, credential: Credential) -> Mapping[str, Secret]:
        """Write the grant, or approve the key and pass it on.

        Unless it holds full credentials, a room has no refresh token: the CLI would rotate
        it, and log out every other holder of the same grant. With ``refreshToken: null``
        it makes no token call, not even when the access token has expired (measured,
        2.1.198 to 2.1.332).
        """
        seeding.require_home(room.home)
        if credential.kind == "oauth":
            grant = json.loads(credential.secret.reveal())
            if not room.options.full_credentials:
                grant["refreshToken"] = None
            seeding.merge(room.home / _CREDENTIALS, {"claudeAiOauth": grant})
            if credential.account is not None:
                account = json.loads(credential.account)
                seeding.merge(room.home / _STATE, {"oauthAccount": account})
            return {}
        if credential.kind == "token":
            return {"CLAUDE_CODE_OAUTH_TOKEN": credential.secret}
        tail = credential.secret.reveal()[-_KEY_TAIL:]
        answers = {"approved": [tail], "rejected": []}
        seeding.merge(room.home / _STATE, {"customApiKeyResponses": answers})
        return {"ANTHROPIC_API_KEY": credential.secret}

    def signature(self, home: Path) -> str | None:
        """Digest the grant in ``.credentials.json``, whatever else the file holds."""
        found = self.collect(home)
        if found is None:
            return None
        return digest(json.dumps(json.loads(found.secret.reveal()), sort_keys=True))

    def collect(self, home: Path) -> Credential | None:
        """Read the grant that the CLI left; blanked tokens are none."""
        grant = common.read_room_object(home, _CREDENTIALS).get("claudeAiOauth")
        if not isinstance(grant, dict) or not grant.get("accessToken"):
            return None
        account = common.read_room_object(home, _STATE).get("oauthAccount")
        with contextlib.suppress(CredentialError):
            return claude_store.as_credential(grant, account, home / _CREDENTIALS)
        return None

    def restore(self, environ: Mapping[str, str], user_home: Path, renewed: Credential) -> bool:
        """Replace the grant in ``.credentials.json`` by a newer one of the same account."""
        current = self.discover(environ, user_home)
        if current is None or not renewed.supersedes(current, self.account_key):
            return False
        path, document = claude_store.read_master(environ, user_home)
        grant = json.loads(renewed.secret.reveal())
        common.replace_user_object(path, {**document, "claudeAiOauth": grant})
        return True

    def login_ways(self) -> Sequence[LoginWay]:
        """``auth login`` prints an address and waits for the code that the page shows."""
        hosts = ("claude.ai:443", *_TOKEN_HOSTS)
        return (LoginWay("account", ("auth", "login"), hosts),)

    def check_shape(self, kind: CredentialKind, secret: Secret) -> str | None:
        """Know a key (``sk-ant-api…``) from a long-lived token (``sk-ant-oat…``)."""
        shape = _SHAPES.get(kind)
        if shape is None or shape.fullmatch(secret.reveal()):
            return None
        begins = "sk-ant-api03-" if kind == "api-key" else "sk-ant-oat01-"
        return f"it does not look like one: those begin with {begins}"

    def probe(self, credential: Credential) -> tuple[str, Mapping[str, Secret | str]]:
        """List the models: no tokens are spent by that."""
        headers: dict[str, Secret | str] = {"anthropic-version": "2023-06-01"}
        if credential.kind == "api-key":
            headers["x-api-key"] = credential.secret
        else:
            token = credential.secret.reveal()
            if credential.kind == "oauth":
                token = json.loads(token)["accessToken"]
            headers["Authorization"] = Secret(f"Bearer {token}")
            headers["anthropic-beta"] = "oauth-2025-04-20"
        return "https://api.anthropic.com/v1/models", headers

    def demo_credential(self) -> Credential:
        """Return a key in the shape of a real one, so that the CLI takes it."""
        return Credential("api-key", Secret("sk-ant-api03-" + "homeroom-demo-" * 4), "the demo")

    def transcripts(self, home: Path) -> Sequence[Path]:
        """List ``projects/<slug>/*.jsonl``, the agents' below it included."""
        return sorted(common.find_files(home, _PROJECTS, ".jsonl", _TRANSCRIPT_DEPTH))

    def locate_transcript(
        self, home: Path, workspace: Path, session: str | None = None
    ) -> Path | None:
        """Look in the directory named after the workspace."""
        found = [
            path
            for name in claude_transcript.slugs(str(workspace))
            for path in common.find_files(home, f"{_PROJECTS}/{name}", ".jsonl", 1)
        ]
        # Older versions keep what their sub-agents said beside it, as agent-<id>.jsonl.
        talks = [path for path in found if _SESSION.fullmatch(path.stem)]
        return common.newest([path for path in talks if session in (None, path.stem)])

    def read_transcript(self, lines: Iterator[bytes]) -> Iterator[Message]:
        """Read one JSON object a line."""
        return claude_transcript.read(lines)

    def commands(self, home: Path, workspace: Path) -> Sequence[SlashCommand]:
        """Look in ``.claude`` of the home and of the workspace."""
        places = {"commands": ".claude/commands", "skills": ".claude/skills"}
        return (
            *common.built_in_commands(self.name),
            *common.find_commands(home, "user", **places),
            *common.find_commands(workspace, "project", **places),
        )

    def deep_link(self, home: Path) -> DeepLink | None:
        """Read the session registry; the id is there while remote control is on."""
        latest = common.newest(common.find_files(home, ".claude/sessions", ".json", 1))
        if latest is None:
            return None
        entry = common.read_room_object(home, str(latest.relative_to(home)))
        session = entry.get("bridgeSessionId")
        if not isinstance(session, str) or not re.fullmatch(r"[A-Za-z0-9_-]+", session):
            return DeepLink(_SITE, is_generic=True)
        # The registry may hold the id of the server's side, which begins with cse_.
        return DeepLink(
            f"{_SITE}/session_{re.sub('^(session|cse)_', '', session)}", is_generic=False
        )
