"""The adapter for Codex.

Sources: Codex 0.171.0 as measured in a sandbox with a model server in place of the vendor;
each coupling is listed, with the test that re-verifies it, in ``docs/compat/codex.md``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from homeroom import seeding
from homeroom.credential.secret import Credential, Secret, digest
from homeroom.provider import codex_access, codex_transcript, common
from homeroom.provider.codex_preferences import preferences
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

    from homeroom.credential.secret import CredentialKind
    from homeroom.provider.values import Message, SlashCommand

_CONFIG = ".codex/config.toml"
_AUTH = ".codex/auth.json"
_TOKEN_HOSTS = ("auth.openai.com:443",)
_PLAIN_MODEL = "gpt-5.5"
# Who is set to an older model is asked to change it, until the pair is written down. These
# are all pairs in the catalogue of 0.171.0.
_UPGRADES = {
    "gpt-5.5": "gpt-6-sol",
    "gpt-5.6-luna": "gpt-6-luna",
    "gpt-5.6-sol": "gpt-6-sol",
    "gpt-5.6-terra": "gpt-6-sol",
}
_KEY = re.compile(r"sk-[A-Za-z0-9_-]{20,}")
# A dialog has a number behind the same mark, and no such line.
_PROMPT = re.compile(r"^\s*\u203a (?!\d+\.).*\n(.*\n)?\s+\S+ \S+ \u00b7 [~/]", re.MULTILINE)
_ONE_SHOT = ("exec", "e")
# sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl
_ROLLOUT_DEPTH = 4
_ROLLOUT = re.compile(r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(?P<id>.+)\.jsonl")


class Codex:
    """Codex."""

    name = "codex"
    tool = "codex"
    interrupt_key = "Escape"
    account_key = "account_id"

    def environment(self, room: Room) -> Mapping[str, str]:
        """Pin ``CODEX_HOME``; everything else is in the configuration file."""
        return {"CODEX_HOME": str(room.home / ".codex")}

    def seed(self, room: Room) -> Sequence[SeedFile]:
        """Trust the workspace, and leave confinement to the sandbox around the room.

        Codex's own sandbox fails within srt in every mode but ``danger-full-access``
        (measured); its daemons would outlive it, and fail there as well. A project that
        has only the other agent's instructions is read through the fallback name.
        """
        config: dict[str, Any] = {
            "check_for_update_on_startup": False,
            "sandbox_mode": "danger-full-access",
            "approval_policy": "never",
            "project_doc_fallback_filenames": ["CLAUDE.md"],
            "features": {"plugins": False, "daemon_auto_start": False},
            "analytics": {"enabled": False},
            "notice": {"model_migrations": dict(_UPGRADES)},
            "projects": {
                str(root): {"trust_level": "trusted"} for root in room.workspace.trust_roots
            },
        }
        if room.endpoint is not None:
            # The built-in provider would try a websocket seven times before it posts.
            config["model_provider"] = "homeroom"
            # Newer models are offered one tool that runs JavaScript, in a form of request
            # that no model server but the vendor's understands (measured, 0.171.0).
            config["model"] = _PLAIN_MODEL
            config["model_providers"] = {
                "homeroom": {
                    "name": "model server",
                    "base_url": f"{room.endpoint}/v1",
                    "wire_api": "responses",
                    "requires_openai_auth": True,
                }
            }
        return (SeedFile(_CONFIG, config),)

    def preferences(
        self, environ: Mapping[str, str], user_home: Path, names: Sequence[str], *, hooks: bool
    ) -> Sequence[SeedFile]:
        """Carry chosen files of ``CODEX_HOME`` and of ``~/.agents``."""
        return preferences(_master(environ, user_home), user_home, names, hooks=hooks)

    def command(self, room: Room, arguments: Sequence[str]) -> Sequence[str]:
        """Start the native program; one-shot use works outside a repository as well."""
        words = list(arguments)
        skip = "--skip-git-repo-check"
        if words[:1] and words[0] in _ONE_SHOT and skip not in words:
            words.insert(1, skip)
        return (str(room.executable), *words)

    def unattended(self, prompt: str) -> Sequence[str]:
        """Execute once; the seeded policy asks for nothing."""
        return ("exec", prompt)

    def needs_login(
        self,
        room: Room,
        arguments: Sequence[str],
        passed: Collection[str],
        seeds: Sequence[SeedFile],
    ) -> bool:
        """Look for what asks once and ends, with nothing that lets it in."""
        if not codex_access.asks_once(arguments):
            return False
        machine = self.surfaces().machine
        return not common.is_let_in(room, passed, seeds, machine, codex_access.ELSEWHERE)

    def resume(
        self, room: Room, transcript: Path, arguments: Sequence[str]
    ) -> tuple[SeedFile, Sequence[str]]:
        """Put the rollout under its date again; its name ends with the conversation's id."""
        del room
        dated = Path(*transcript.parts[-_ROLLOUT_DEPTH:])
        seed = SeedFile(f".codex/sessions/{dated}", content=common.read_transcript_file(transcript))
        match = _ROLLOUT.fullmatch(transcript.name)
        session = match["id"] if match else "--last"
        words = list(arguments)
        if words[:1] and words[0] in _ONE_SHOT:
            return seed, (words[0], "resume", session, *words[1:])
        return seed, ("resume", session, *words)

    def needs(self, room: Room) -> Needs:
        """Reach the API; the token host only where the room may renew its grant."""
        if room.endpoint is None:
            renewal = _TOKEN_HOSTS if room.options.full_credentials else ()
            return Needs(("chatgpt.com:443", "api.openai.com:443", *renewal))
        address = room.endpoint.partition("://")[2].partition("/")[0]
        return Needs((address,), unset=("NO_PROXY", "no_proxy"))

    def health_check(self, room: Room) -> str | None:
        """Look for the answers to the dialogs in the configuration file."""
        config = common.read_room_toml(room.home, _CONFIG)
        if config is None:
            return f"{_CONFIG} is missing or cannot be read"
        projects = config.get("projects")
        for root in room.workspace.trust_roots:
            entry = projects.get(str(root)) if isinstance(projects, dict) else None
            if not isinstance(entry, dict) or entry.get("trust_level") != "trusted":
                return f"{_CONFIG} does not trust {root}"
        return None

    def surfaces(self) -> Surfaces:
        """Name the machine's and the project's configuration, which can name programs."""
        return Surfaces(
            machine=("/etc/codex",),
            inherited=("AGENTS.md", ".codex"),
            obeyed=(".codex/config.toml", ".codex/hooks.json"),
        )

    def is_at_prompt(self, screen: str) -> bool:
        """Look for the input line, and for the line of model and directory below it."""
        return bool(_PROMPT.search(screen))

    def master_store(self, environ: Mapping[str, str], user_home: Path) -> MasterStore:
        """Name ``~/.codex``, and where ``CODEX_HOME`` has moved it."""
        roots = tuple(dict.fromkeys((user_home / ".codex", _master(environ, user_home))))
        return MasterStore(roots, tuple(root / "auth.json" for root in roots))

    def discover(self, environ: Mapping[str, str], user_home: Path) -> Credential | None:
        """Read ``auth.json``: an API key, or a grant with its tokens."""
        path = _master(environ, user_home) / "auth.json"
        return _credential(common.read_user_object(path), path)

    def inject(self, room: Room, credential: Credential) -> Mapping[str, Secret]:
        """Write ``auth.json``.

        Unless the room holds full credentials the refresh token is empty: the CLI takes
        that, where it refuses null or a missing one (measured, 0.171.0).
        """
        seeding.require_home(room.home)
        if credential.kind == "oauth":
            document = json.loads(credential.secret.reveal())
            if not room.options.full_credentials:
                document["tokens"]["refresh_token"] = ""
        else:
            key = credential.secret.reveal()
            document = {"auth_mode": "apikey", "OPENAI_API_KEY": key}
        seeding.merge(room.home / _AUTH, document)
        return {}

    def signature(self, home: Path) -> str | None:
        """Digest the key or the tokens, whatever else the file holds."""
        document = common.read_room_object(home, _AUTH)
        if _credential(document, home / _AUTH) is None:
            return None
        kept = {key: document.get(key) for key in ("OPENAI_API_KEY", "tokens")}
        return digest(json.dumps(kept, sort_keys=True))

    def collect(self, home: Path) -> Credential | None:
        """Read what the CLI left in ``auth.json``."""
        return _credential(common.read_room_object(home, _AUTH), home / _AUTH)

    def restore(self, environ: Mapping[str, str], user_home: Path, renewed: Credential) -> bool:
        """Replace the tokens in ``auth.json`` by newer ones of the same account."""
        current = self.discover(environ, user_home)
        if current is None or not renewed.supersedes(current, self.account_key):
            return False
        path = _master(environ, user_home) / "auth.json"
        document = common.read_user_object(path)
        grant = json.loads(renewed.secret.reveal())
        common.replace_user_object(path, {**document, **grant})
        return True

    def login_ways(self) -> Sequence[LoginWay]:
        """Show a code to be entered on another device's page: no port of the room is open."""
        return (LoginWay("account", ("login", "--device-auth"), _TOKEN_HOSTS),)

    def check_shape(self, kind: CredentialKind, secret: Secret) -> str | None:
        """Know a key by how it begins; there are no long-lived tokens."""
        if kind == "token":
            return "this agent has no long-lived tokens; use --api-key"
        if kind == "api-key" and not _KEY.fullmatch(secret.reveal()):
            return "it does not look like one: those begin with sk-"
        return None

    def probe(self, credential: Credential) -> tuple[str, Mapping[str, Secret | str]]:
        """List the models: no tokens are spent by that."""
        token = credential.secret.reveal()
        if credential.kind == "oauth":
            token = json.loads(token)["tokens"]["access_token"]
        return "https://api.openai.com/v1/models", {"Authorization": Secret(f"Bearer {token}")}

    def demo_credential(self) -> Credential:
        """Return a key in the shape of a real one."""
        return Credential("api-key", Secret("sk-" + "homeroom-demo-" * 3), "the demo")

    def transcripts(self, home: Path) -> Sequence[Path]:
        """List ``sessions/YYYY/MM/DD/rollout-*.jsonl``."""
        found = common.find_files(home, ".codex/sessions", ".jsonl", _ROLLOUT_DEPTH)
        return sorted(path for path in found if _ROLLOUT.fullmatch(path.name))

    def locate_transcript(
        self, home: Path, workspace: Path, session: str | None = None
    ) -> Path | None:
        """Look for the conversation's id in the name; a room has one workspace only."""
        del workspace
        named = {path: _ROLLOUT.fullmatch(path.name) for path in self.transcripts(home)}
        return common.newest(
            [path for path, match in named.items() if match and session in (None, match["id"])]
        )

    def read_transcript(self, lines: Iterator[bytes]) -> Iterator[Message]:
        """Read the items that went to the model and came from it."""
        return codex_transcript.read(lines)

    def commands(self, home: Path, workspace: Path) -> Sequence[SlashCommand]:
        """Look for skills; commands of the user's own (``prompts/``) are gone."""
        found = common.built_in_commands(self.name)
        found += common.find_commands(
            home, "user", commands=".codex/prompts", skills=".codex/skills"
        )
        found += common.find_commands(home, "user", commands=".none", skills=".agents/skills")
        found += common.find_commands(
            workspace, "project", commands=".none", skills=".agents/skills"
        )
        return found

    def deep_link(self, home: Path) -> DeepLink | None:
        """A local conversation has no address of its own."""
        del home
        return DeepLink("https://chatgpt.com/codex", is_generic=True)


def _master(environ: Mapping[str, str], user_home: Path) -> Path:
    return user_home / (environ.get("CODEX_HOME") or ".codex")


def _credential(document: dict[str, Any], path: Path) -> Credential | None:
    tokens = document.get("tokens")
    access = tokens.get("access_token") if isinstance(tokens, dict) else None
    if isinstance(access, str) and access and document.get("auth_mode") != "apikey":
        account = tokens.get("account_id") if isinstance(tokens, dict) else None
        return Credential(
            kind="oauth",
            secret=Secret(json.dumps(document)),
            source=str(path),
            account=json.dumps({"account_id": account}) if account else None,
            expires_at=common.token_expiry(access),
        )
    key = document.get("OPENAI_API_KEY")
    return Credential("api-key", Secret(key), str(path)) if isinstance(key, str) and key else None
