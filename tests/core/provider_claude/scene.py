"""What the tests of provider claude share."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from homeroom.credential.secret import Credential, Secret
from homeroom.provider.claude import Claude
from homeroom.provider.common import apply
from homeroom.provider.values import Room
from homeroom.workspace import Workspace
from tests.core.kinds import NOT_A_FILE

ACCESS = "sk-ant-" + "oat01-" + "access" * 6


REFRESH = "sk-ant-" + "ort01-" + "refresh" * 6


KEY = "sk-ant-" + "api03-" + "apikey" * 6


GRANT = {
    "accessToken": ACCESS,
    "refreshToken": REFRESH,
    "expiresAt": 4102444800000,
    "scopes": ["user:inference"],
    "subscriptionType": "max",
}


ACCOUNT = {"accountUuid": "0000", "emailAddress": "a@example.invalid"}


KINDS = {
    "oauth": Credential("oauth", Secret(json.dumps(GRANT)), "a file", json.dumps(ACCOUNT)),
    "token": Credential("token", Secret(ACCESS), "a variable"),
    "api-key": Credential("api-key", Secret(KEY), "a variable"),
}


STATE = ".claude/.claude.json"


CREDENTIALS = ".claude/.credentials.json"


def room_in(home: Path) -> Room:
    place = Workspace(Path("/w/sub"), Path("/w"), (Path("/w/.git"),), (Path("/w/sub"), Path("/w")))
    return Room(home, place, "2.1.332", Path("/tools/claude"))


def load(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def seed(room: Room) -> None:
    for file in Claude().seed(room):
        apply(room.home, file)


def contents(home: Path) -> dict[str, Any]:
    return {str(path.relative_to(home)): load(path) for path in home.rglob("*") if path.is_file()}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


def huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


CORRUPT: dict[str, Callable[[Path], object]] = {
    **NOT_A_FILE,
    "empty": lambda path: path.write_bytes(b""),
    "truncated": lambda path: path.write_text(json.dumps({"claudeAiOauth": GRANT})[:-9]),
    "no object": lambda path: path.write_text("[]"),
    "no UTF-8": lambda path: path.write_bytes(b'{"claudeAiOauth": "\xff"}'),
    "a byte order mark": lambda path: path.write_bytes(b"\xef\xbb\xbf{}"),
    "deep": lambda path: path.write_bytes(b"[" * 200_000),
    "huge": huge,
}
