"""What the kit makes up: logins, files that are not what they should be, trees of JSON."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

# Planted in a user's preferences by an adapter's test: what must arrive in a room, what
# must never, and what must only when the user asks for programs of theirs to come along.
CARRIED = "kit-carried-0d1f"
SECRET = "kit-secret-7c2e9b41d05f"
HOOK = "kit-hook-5a38"

SESSION = "6f1c2a34-9d0b-4c57-8e21-3b7a5f90c1d2"
OTHER_SESSION = "00000000-1111-4222-8333-444444444444"

HUGE = "100 MB"
_HUGE_SIZE = 100 * 1024 * 1024
_DEEP = 100_000


# How the secrets begin that the kit makes up. None of these stands in a path of its own.
MADE_UP = ("kit-access-", "kit-renewal-", "kit-key-", SECRET)


def gives_away(text: str) -> list[str]:
    """List which of the made-up secrets stand in a text."""
    return [word for word in MADE_UP if word in text]


class Login(msgspec.Struct, frozen=True):
    """A login as the CLI keeps it in a user's home, made up by the kit.

    Attributes:
        access: The secret text that authenticates; empty in a home that is logged out.
        renewal: The secret text that renews a grant; empty where there is none.
        expires_at: When a grant's access ends, in seconds since the epoch.
        account: What names the account.
    """

    access: str
    renewal: str
    expires_at: float
    account: str


def login(number: int, *, account: str = "one", expires_at: float = 4102444800.0) -> Login:
    """Make up a login; another number gives other secrets."""
    return Login(
        access=f"kit-access-{number}-9f8e7d6c5b4a",
        renewal=f"kit-renewal-{number}-1a2b3c4d5e6f",
        expires_at=expires_at,
        account=f"kit-account-{account}",
    )


def logged_out() -> Login:
    """Make up what a CLI leaves of a login that it has blanked."""
    return Login(access="", renewal="", expires_at=0.0, account="kit-account-one")


def write_files(root: Path, files: Mapping[str, str]) -> None:
    """Write files as a CLI does, 0600 in directories 0700, whatever the umask.

    Args:
        root: What their names are relative to.
        files: Their texts by name.
    """
    for name, text in files.items():
        path = root / name
        for directory in reversed(path.parents):
            if not directory.exists():
                directory.mkdir(mode=0o700)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)


Corruption = Callable[[Path, bytes], None]


def corruptions() -> Mapping[str, Corruption]:
    """List ways in which a file can be something else than its reader hopes for.

    Returns:
        By name, functions that are given a path at which nothing is, whose directory
        exists, and the content that a sound file would have.
    """
    return {
        "truncated": lambda path, sound: _write(path, _cut(path, sound)),
        "empty": lambda path, _: _write(path, b""),
        HUGE: _make_huge,
        "not UTF-8": lambda path, _: _write(path, b"\xff\xfe{\x00}\x00"),
        "a key twice": lambda path, _: _write(path, _twice(path)),
        "nested deeply": lambda path, _: _write(path, _nested(path)),
        "an array": lambda path, _: _write(path, b"[1, 2]"),
        "no number JSON has": lambda path, _: _write(path, _no_number(path)),
        "a directory": lambda path, _: path.mkdir(),
        "a FIFO": lambda path, _: os.mkfifo(path),
        "a socket": _make_socket,
        "a device": lambda path, _: path.symlink_to(os.devnull),
        "a dangling symlink": lambda path, _: path.symlink_to(path.parent / "nowhere"),
        "a symlink to itself": lambda path, _: path.symlink_to(path),
    }


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0o600)


def _cut(path: Path, sound: bytes) -> bytes:
    # Half of a TOML file may well be TOML.
    return sound + b'\nkey = "cut o' if path.suffix == ".toml" else sound[: len(sound) // 2]


def _make_huge(path: Path, sound: bytes) -> None:
    _write(path, sound)
    os.truncate(path, _HUGE_SIZE)


def _make_socket(path: Path, _: bytes) -> None:
    # By its name alone: the path of a socket ends at 107 bytes.
    with contextlib.chdir(path.parent), socket.socket(socket.AF_UNIX) as server:
        server.bind(path.name)


def _twice(path: Path) -> bytes:
    return b"a = 1\na = 2\n" if path.suffix == ".toml" else b'{"a": 1, "a": 2}'


def _nested(path: Path) -> bytes:
    deep = b"[" * _DEEP + b"]" * _DEEP
    return b"a = " + deep if path.suffix == ".toml" else b'{"a": ' + deep + b"}"


def _no_number(path: Path) -> bytes:
    return b"a = 1e" if path.suffix == ".toml" else b'{"a": NaN}'


def json_values() -> SearchStrategy[Any]:
    """Give a Hypothesis strategy for anything that a JSON document can hold."""
    from hypothesis import strategies

    # With lone surrogates: JSON can spell them, and a CLI may have written them.
    text = strategies.text(strategies.characters(), max_size=20)
    leaves = (
        strategies.none()
        | strategies.booleans()
        | strategies.integers()
        | strategies.floats(allow_nan=False, allow_infinity=False)
        | text
    )
    return strategies.recursive(
        leaves,
        lambda inner: (
            strategies.lists(inner, max_size=4) | strategies.dictionaries(text, inner, max_size=4)
        ),
        max_leaves=12,
    )


def places(document: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401
    """Yield where the values in a JSON document are, as keys to follow one after another."""
    if at:
        yield at
    inner = document.items() if isinstance(document, dict) else ()
    for key, value in inner:
        yield from places(value, (*at, key))


def replaced(document: Any, at: tuple[Any, ...], value: object) -> Any:  # noqa: ANN401
    """Return a copy of a JSON document with another value at one place."""
    copy = json.loads(json.dumps(document))
    holder = copy
    for key in at[:-1]:
        holder = holder[key]
    holder[at[-1]] = value
    return copy
