"""A third adapter, for a CLI that homeroom does not ship: Qwen Code 0.24.4, with an API key.

It shows that an agent is one file. Measured by running it with a model server; nothing else
of homeroom knows that it exists.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from homeroom import seeding
from homeroom.credential.secret import Credential, Secret
from homeroom.errors import CredentialError
from homeroom.provider import MasterStore, Message, Needs, SeedFile, Surfaces, common

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from homeroom.credential.secret import CredentialKind
    from homeroom.provider import DeepLink, LoginWay, Room, SlashCommand

_SETTINGS = ".qwen/settings.json"
_API = "https://dashscope.aliyuncs.com/compatible-mode/v1"


class Qwen:
    """Qwen Code."""

    name = "qwen"
    tool = "qwen"
    account_key = "none"
    interrupt_key = "Escape"

    def environment(self, room: Room) -> Mapping[str, str]:
        return {
            "QWEN_HOME": str(room.home / ".qwen"),
            "QWEN_RUNTIME_DIR": str(room.home / ".qwen"),
            "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
            "OPENAI_BASE_URL": f"{room.endpoint}/v1" if room.endpoint else _API,
            "OPENAI_MODEL": "qwen3-coder-plus",
        }

    def seed(self, room: Room) -> Sequence[SeedFile]:
        settings = {
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "security": {"auth": {"selectedType": "openai"}},
            "tools": {"approvalMode": "yolo"},
            "ui": {"autoModeAcknowledged": True},
            "homeroom": {"trusts": {str(root): True for root in room.workspace.trust_roots}},
        }
        return (SeedFile(_SETTINGS, settings),)

    def preferences(
        self, environ: Mapping[str, str], user_home: Path, names: Sequence[str], *, hooks: bool
    ) -> Sequence[SeedFile]:
        del hooks
        text = common.read_user_text(_master(environ, user_home) / "QWEN.md")
        if text is None or "instructions" not in names:
            return ()
        return (SeedFile(".qwen/QWEN.md", content=text.encode()),)

    def command(self, room: Room, arguments: Sequence[str]) -> Sequence[str]:
        return (str(room.executable), *arguments)

    def unattended(self, prompt: str) -> Sequence[str]:
        return ("-p", prompt)

    def needs_login(
        self,
        room: Room,
        arguments: Sequence[str],
        passed: Collection[str],
        seeds: Sequence[SeedFile],
    ) -> bool:
        del room, passed, seeds
        return "-p" in arguments

    def resume(
        self, room: Room, transcript: Path, arguments: Sequence[str]
    ) -> tuple[SeedFile, Sequence[str]]:
        name = re.sub("[^A-Za-z0-9]", "-", str(room.workspace.directory))
        path = f".qwen/projects/{name}/chats/{transcript.name}"
        seed = SeedFile(path, content=common.read_transcript_file(transcript))
        return seed, ("--resume", transcript.stem, *arguments)

    def needs(self, room: Room) -> Needs:
        if room.endpoint is None:
            return Needs(("dashscope.aliyuncs.com:443",))
        return Needs((room.endpoint.partition("://")[2],), unset=("NO_PROXY", "no_proxy"))

    def health_check(self, room: Room) -> str | None:
        trusts = common.read_room_object(room.home, _SETTINGS).get("homeroom", {}).get("trusts", {})
        untrusted = [root for root in room.workspace.trust_roots if str(root) not in trusts]
        return f"{_SETTINGS} does not know {untrusted[0]}" if untrusted else None

    def surfaces(self) -> Surfaces:
        return Surfaces(machine=("/etc/qwen-code/settings.json",), inherited=("QWEN.md",))

    def is_at_prompt(self, screen: str) -> bool:
        return "Type your message" in screen

    def master_store(self, environ: Mapping[str, str], user_home: Path) -> MasterStore:
        roots = tuple(dict.fromkeys((user_home / ".qwen", _master(environ, user_home))))
        return MasterStore(roots, tuple(root / "settings.json" for root in roots))

    def discover(self, environ: Mapping[str, str], user_home: Path) -> Credential | None:
        path = _master(environ, user_home) / "settings.json"
        security = common.read_user_object(path).get("security")
        auth = security.get("auth") if isinstance(security, dict) else None
        key = auth.get("apiKey") if isinstance(auth, dict) else None
        if key is not None and not isinstance(key, str):
            raise CredentialError(f"{path}: apiKey is not a text", common.CURE)
        return Credential("api-key", Secret(key), str(path)) if key else None

    def inject(self, room: Room, credential: Credential) -> Mapping[str, Secret]:
        seeding.require_home(room.home)
        return {"OPENAI_API_KEY": credential.secret}

    def signature(self, home: Path) -> str | None:
        del home
        return None

    def collect(self, home: Path) -> Credential | None:
        del home
        return None

    def restore(self, environ: Mapping[str, str], user_home: Path, renewed: Credential) -> bool:
        del environ, user_home, renewed
        return False

    def login_ways(self) -> Sequence[LoginWay]:
        return ()

    def check_shape(self, kind: CredentialKind, secret: Secret) -> str | None:
        key = secret.reveal()
        sound = kind == "api-key" and key.startswith("sk-") and key.isprintable() and " " not in key
        return None if sound else "those begin with sk-"

    def probe(self, credential: Credential) -> tuple[str, Mapping[str, Secret | str]]:
        return f"{_API}/models", {"Authorization": Secret(f"Bearer {credential.secret.reveal()}")}

    def demo_credential(self) -> Credential:
        return Credential("api-key", Secret("sk-homeroom-demo"), "the demo")

    def transcripts(self, home: Path) -> Sequence[Path]:
        found = common.find_files(home, ".qwen/projects", ".jsonl", 3)
        return sorted(path for path in found if path.parent.name == "chats")

    def locate_transcript(
        self, home: Path, workspace: Path, session: str | None = None
    ) -> Path | None:
        del workspace
        return common.newest([p for p in self.transcripts(home) if session in (None, p.stem)])

    def read_transcript(self, lines: Iterator[bytes]) -> Iterator[Message]:
        for entry in common.parse_lines(lines):
            message, at = entry.get("message"), entry.get("timestamp")
            parts = message.get("parts") if isinstance(message, dict) else None
            for part in parts if isinstance(parts, list) else ():
                text = part.get("text") if isinstance(part, dict) else None
                if entry.get("type") in ("user", "assistant") and isinstance(text, str):
                    when = at if isinstance(at, str) else None
                    yield Message("user" if entry["type"] == "user" else "assistant", text, when)

    def commands(self, home: Path, workspace: Path) -> Sequence[SlashCommand]:
        places = {"commands": ".qwen/commands", "skills": ".qwen/skills"}
        found = common.find_commands(home, "user", **places)
        return (*found, *common.find_commands(workspace, "project", **places))

    def deep_link(self, home: Path) -> DeepLink | None:
        del home
        return None


def _master(environ: Mapping[str, str], user_home: Path) -> Path:
    return user_home / (environ.get("QWEN_HOME") or ".qwen")
