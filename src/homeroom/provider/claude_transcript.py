"""Where Claude Code keeps a conversation, and what is in it."""

import json
import re
from collections.abc import Iterator
from typing import Any

from homeroom.provider import common
from homeroom.provider.values import Message

_SLUG_LIMIT = 200
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def slug(path: str) -> str:
    """Name the directory of a workspace's transcripts.

    Args:
        path: The real path of the workspace.

    Returns:
        Each UTF-16 unit that is no ASCII letter or digit becomes "-". Over 200 characters
        (2.1.x): the first 200, "-", and the path's hash in base 36 (measured, 2.1.332).
    """
    return slugs(path)[0]


def slugs(path: str) -> tuple[str, ...]:
    """Give the name of that directory, and the one that versions before 2.1 gave it."""
    units = path.encode("utf-16-be")
    text = "".join(chr(units[at + 1]) if units[at] == 0 else "-" for at in range(0, len(units), 2))
    name = re.sub(r"[^A-Za-z0-9]", "-", text)
    if len(name) <= _SLUG_LIMIT:
        return (name,)
    return (f"{name[:_SLUG_LIMIT]}-{_base36(abs(_java_hash(units)))}", name)


def _java_hash(units: bytes) -> int:
    """Hash UTF-16 units as Java's ``String.hashCode`` does: 31-based, in 32 bits, signed."""
    value = 0
    for at in range(0, len(units), 2):
        value = (value * 31 + (units[at] << 8) + units[at + 1]) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"


def read(lines: Iterator[bytes]) -> Iterator[Message]:
    """Read messages, tool calls and their results.

    Args:
        lines: The transcript's lines.

    Yields:
        What was said, in the file's order.
    """
    for entry in common.parse_lines(lines):
        message = entry.get("message")
        if entry.get("type") not in ("user", "assistant") or not isinstance(message, dict):
            continue
        at = entry.get("timestamp")
        yield from _parts(
            entry["type"], message.get("content"), at if isinstance(at, str) else None
        )


def _parts(role: Any, content: Any, at: str | None) -> Iterator[Message]:  # noqa: ANN401
    if isinstance(content, str):
        yield Message(role, content, at)
        return
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, dict):
            continue
        if part.get("type") == "text":
            yield Message(role, str(part.get("text", "")), at)
        elif part.get("type") == "tool_use":
            call = f"{part.get('name', '')} {json.dumps(part.get('input'), ensure_ascii=False)}"
            yield Message("tool call", call, at)
        elif part.get("type") == "tool_result":
            yield Message("tool result", _result(part.get("content")), at)


def _result(content: Any) -> str:  # noqa: ANN401
    if isinstance(content, str):
        return content
    texts = [
        str(part.get("text", ""))
        for part in (content if isinstance(content, list) else ())
        if isinstance(part, dict) and part.get("type") == "text"
    ]
    return "\n".join(texts)
