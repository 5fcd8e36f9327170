"""A master store with a grant, and a room that had a copy of it."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from homeroom import adoption, provider
from homeroom.adoption import Places
from homeroom.config import Config
from homeroom.credential.secret import Credential, Secret
from homeroom.credential.vault import Vault, open_vault
from homeroom.errors import StateError
from homeroom.paths import locate
from tests.login.conftest import grant

RUN = f"run_{'a' * 32}"
RESCUED = "rescued-aaaaaaaa"


@dataclass
class Scene:
    """A master store with grant 1, and a room that had a copy of it.

    Attributes:
        root: Everything is below.
        origin: Where the grant is from.
        said: What the user was told.
    """

    root: Path
    origin: str
    said: list[str] = field(default_factory=list)

    @property
    def user(self) -> Path:
        return self.root / "user"

    @property
    def store(self) -> Path:
        return self.user / ".claude" / ".credentials.json"

    @property
    def room(self) -> Path:
        return self.root / "room"

    @property
    def places(self) -> Places:
        environ = {"HOME": str(self.user), "HOMEROOM_HOME": str(self.root / "r")}
        return Places(locate(environ), Config(), environ, self.user)

    @property
    def vault(self) -> Vault:
        return open_vault(self.places.paths, "file")

    def keep(self, number: int, *, hours: float = 1, account: str = "me") -> None:
        """Put a grant where the grant is from."""
        document = grant(number, hours=hours)
        if self.origin == "store":
            write(self.user, document, account)
        else:
            whole = Credential(
                "oauth",
                Secret(json.dumps(document)),
                "a test",
                json.dumps({"accountUuid": account}),
                float(str(document["expiresAt"])) / 1000,
            )
            self.vault.put("claude", "default", whole)

    def kept(self) -> str:
        """Tell the access token that is where the grant is from."""
        if self.origin == "store":
            document = json.loads(self.store.read_text())["claudeAiOauth"]
        else:
            found = self.vault.get("claude", "default")
            assert found
            document = json.loads(found.secret.reveal())
        token: str = document["accessToken"]
        return token

    def take_back(self) -> None:
        adapter = provider.get("claude")
        adoption.take_back(adapter, self.room, self.origin, RUN, self.places, self.said.append)


def write(home: Path, document: dict[str, object], account: str | None = "me") -> None:
    directory = home / ".claude"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = json.dumps({"other": "kept", "claudeAiOauth": document})
    (directory / ".credentials.json").write_text(text)
    state = directory / ".claude.json" if home.name == "room" else home / ".claude.json"
    state.write_text(json.dumps({"oauthAccount": {"accountUuid": account}} if account else {}))


def access(number: int) -> str:
    return str(grant(number)["accessToken"])


def blanked(scene: Scene) -> None:
    write(scene.room, {"accessToken": "", "refreshToken": "", "expiresAt": 0})


def logged_out(scene: Scene) -> None:
    scene.room.mkdir()


def refuse_writing(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the place of the grant one that cannot be written to, for root as well."""

    def refuse(path: Path, content: bytes) -> None:
        del content
        raise PermissionError(13, "Permission denied", str(path))

    if scene.origin == "store":
        monkeypatch.setattr("homeroom.provider.common.replace_private", refuse, raising=False)
        monkeypatch.setattr("homeroom.files.replace_private", refuse)
    else:
        monkeypatch.setattr(Vault, "renew", lambda *_: (_ for _ in ()).throw(StateError("no")))
