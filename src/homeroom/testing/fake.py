"""An adapter for an agent that is a shell script: small, and a real one in every respect.

Use it where a test needs some agent and no model. It is also the shortest complete adapter
there is to read.
"""

from __future__ import annotations

import json
import shutil
from importlib import resources
from typing import TYPE_CHECKING, Any

from homeroom import seeding
from homeroom.credential.secret import Credential, Secret, digest
from homeroom.errors import CredentialError
from homeroom.provider import (
    DeepLink,
    LoginWay,
    MasterStore,
    Message,
    Needs,
    Room,
    SeedFile,
    SlashCommand,
    Surfaces,
    common,
)
from homeroom.toolchain.store import Tool

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from homeroom.credential.secret import CredentialKind

TOOL = "fake-agent"
_STORE = ".fake-agent"
_CONFIG = f"{_STORE}/config.json"
_LOGIN = f"{_STORE}/login.json"
_TALKS = f"{_STORE}/talks"
_KEY = "fake-key-"
_TALK_DEPTH = 64


def install(root: Path) -> Tool:
    """Put the agent into a directory, for ``homeroom.testing.toolchain.with_tools``."""
    program = root / "fake-agent" / "fake-agent.sh"
    program.parent.mkdir(mode=0o755, parents=True)
    with resources.as_file(resources.files("homeroom.testing") / "fake-agent.sh") as script:
        shutil.copyfile(script, program)
    program.chmod(0o755)
    return Tool(TOOL, "1.0.0", program, "")


class FakeProvider:
    """The fake agent."""

    name = "fake"
    tool = TOOL
    interrupt_key = "C-c"
    account_key = "account"

    def environment(self, room: Room) -> Mapping[str, str]:
        """Pin its store."""
        return {"FAKE_AGENT_HOME": str(room.home / _STORE)}

    def seed(self, room: Room) -> Sequence[SeedFile]:
        """Trust the workspace: it asks nothing else."""
        trusted = {str(root): True for root in room.workspace.trust_roots}
        return (SeedFile(_CONFIG, {"trusted": trusted}),)

    def preferences(
        self, environ: Mapping[str, str], user_home: Path, names: Sequence[str], *, hooks: bool
    ) -> Sequence[SeedFile]:
        """Carry its notes; it has no other preference."""
        del hooks
        text = common.read_user_text(_master(environ, user_home) / "NOTES.md")
        if text is None or "instructions" not in names:
            return ()
        return (SeedFile(f"{_STORE}/NOTES.md", content=text.encode()),)

    def command(self, room: Room, arguments: Sequence[str]) -> Sequence[str]:
        """Start the script."""
        return (str(room.executable), *arguments)

    def unattended(self, prompt: str) -> Sequence[str]:
        """Say one thing."""
        return (prompt,)

    def needs_login(
        self,
        room: Room,
        arguments: Sequence[str],
        passed: Collection[str],
        seeds: Sequence[SeedFile],
    ) -> bool:
        """It needs no model, and so no login."""
        del room, arguments, passed, seeds
        return False

    def resume(
        self, room: Room, transcript: Path, arguments: Sequence[str]
    ) -> tuple[SeedFile, Sequence[str]]:
        """Put the talk where the workspace's are."""
        path = f"{_TALKS}{room.workspace.directory}/{transcript.name}"
        seed = SeedFile(path, content=common.read_transcript_file(transcript))
        return seed, ("--resume", transcript.stem, *arguments)

    def needs(self, room: Room) -> Needs:
        """Reach the API of a vendor that does not exist."""
        renewal = ("login.fake.invalid:443",) if room.options.full_credentials else ()
        return Needs(("api.fake.invalid:443", *renewal))

    def health_check(self, room: Room) -> str | None:
        """Look for the workspace among those it trusts."""
        trusted = common.read_room_object(room.home, _CONFIG).get("trusted")
        for root in room.workspace.trust_roots:
            if not isinstance(trusted, dict) or trusted.get(str(root)) is not True:
                return f"{_CONFIG} does not trust {root}"
        return None

    def surfaces(self) -> Surfaces:
        """Obey nothing outside of the room."""
        return Surfaces()

    def is_at_prompt(self, screen: str) -> bool:
        """Know its own prompt."""
        return "fake>" in screen

    def master_store(self, environ: Mapping[str, str], user_home: Path) -> MasterStore:
        """Name ``~/.fake-agent``, and where the variable has moved it."""
        roots = tuple(dict.fromkeys((user_home / _STORE, _master(environ, user_home))))
        return MasterStore(roots, tuple(root / "login.json" for root in roots))

    def discover(self, environ: Mapping[str, str], user_home: Path) -> Credential | None:
        """Read its login file."""
        path = _master(environ, user_home) / "login.json"
        return _credential(common.read_user_object(path), path)

    def inject(self, room: Room, credential: Credential) -> Mapping[str, Secret]:
        """Write a grant into its login file; a key goes into a variable."""
        seeding.require_home(room.home)
        if credential.kind != "oauth":
            return {"FAKE_AGENT_KEY": credential.secret}
        grant = json.loads(credential.secret.reveal())
        if not room.options.full_credentials:
            grant["refresh_token"] = ""
        seeding.merge(room.home / _LOGIN, {"grant": grant})
        return {}

    def signature(self, home: Path) -> str | None:
        """Digest the grant."""
        found = self.collect(home)
        if found is None:
            return None
        return digest(json.dumps(json.loads(found.secret.reveal()), sort_keys=True))

    def collect(self, home: Path) -> Credential | None:
        """Read what it left in its login file."""
        try:
            return _credential(common.read_room_object(home, _LOGIN), home / _LOGIN)
        except CredentialError:
            return None

    def restore(self, environ: Mapping[str, str], user_home: Path, renewed: Credential) -> bool:
        """Replace the grant by a newer one of the same account."""
        current = self.discover(environ, user_home)
        if current is None or not renewed.supersedes(current, self.account_key):
            return False
        path = _master(environ, user_home) / "login.json"
        document = common.read_user_object(path)
        grant = json.loads(renewed.secret.reveal())
        common.replace_user_object(path, {**document, "grant": grant})
        return True

    def login_ways(self) -> Sequence[LoginWay]:
        """It has one."""
        return (LoginWay("account", ("login",), ("login.fake.invalid:443",)),)

    def check_shape(self, kind: CredentialKind, secret: Secret) -> str | None:
        """Know a key by how it begins."""
        text = secret.reveal()
        sound = kind == "api-key" and text.startswith(_KEY) and text.isprintable()
        return None if sound and " " not in text else f"keys begin with {_KEY}"

    def probe(self, credential: Credential) -> tuple[str, Mapping[str, Secret | str]]:
        """Ask the vendor that does not exist."""
        text = credential.secret.reveal()
        if credential.kind == "oauth":
            text = json.loads(text)["access_token"]
        return "https://api.fake.invalid/me", {"Authorization": Secret(f"Bearer {text}")}

    def demo_credential(self) -> Credential:
        """Return a key."""
        return Credential("api-key", Secret(f"{_KEY}for-the-demo"), "the demo")

    def transcripts(self, home: Path) -> Sequence[Path]:
        """List its talks."""
        return sorted(common.find_files(home, _TALKS, ".jsonl", _TALK_DEPTH))

    def locate_transcript(
        self, home: Path, workspace: Path, session: str | None = None
    ) -> Path | None:
        """Look in the directory whose path ends with the workspace's own."""
        found = common.find_files(home, f"{_TALKS}{workspace}", ".jsonl", 1)
        return common.newest([path for path in found if session in (None, path.stem)])

    def read_transcript(self, lines: Iterator[bytes]) -> Iterator[Message]:
        """Read one message a line."""
        for entry in common.parse_lines(lines):
            who, text = entry.get("who"), entry.get("text")
            if who in ("user", "assistant") and isinstance(text, str):
                yield Message(who, text)

    def commands(self, home: Path, workspace: Path) -> Sequence[SlashCommand]:
        """Look in its store and in the workspace."""
        places = {"commands": f"{_STORE}/commands", "skills": f"{_STORE}/skills"}
        return (
            *common.find_commands(home, "user", **places),
            *common.find_commands(workspace, "project", **places),
        )

    def deep_link(self, home: Path) -> DeepLink | None:
        """Its vendor has no site."""
        del home
        return None


def _master(environ: Mapping[str, str], user_home: Path) -> Path:
    return user_home / (environ.get("FAKE_AGENT_HOME") or _STORE)


def _credential(document: dict[str, Any], path: Path) -> Credential | None:
    grant = document.get("grant")
    if not isinstance(grant, dict) or not grant.get("access_token"):
        return None
    ends = grant.get("expires_at")
    if not isinstance(grant["access_token"], str) or not isinstance(ends, int | float):
        raise CredentialError(f"{path} does not hold a grant", common.CURE)
    account = json.dumps({"account": grant.get("account")})
    return Credential("oauth", Secret(json.dumps(grant)), str(path), account, float(ends))
