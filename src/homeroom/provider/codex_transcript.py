"""Codex's rollouts: what was said, without what the CLI says in the user's place."""

import json
import re
from collections.abc import Iterator
from typing import Any

from homeroom.provider import common
from homeroom.provider.values import Message

# What the CLI puts before the prompt and sends as the user's words (seen in 0.171.0; the
# second tag is an older version's). The model needs it, and nobody has said it.
_INJECTED = re.compile(
    r"\s*(?:<(environment_context|user_instructions|skill)>.*</\1>"
    r"|# AGENTS\.md instructions\b.*</INSTRUCTIONS>)\s*",
    re.DOTALL,
)


def read(lines: Iterator[bytes]) -> Iterator[Message]:
    """Read the items that went to the model and came from it.

    Args:
        lines: A rollout's; one that is no item is passed over.

    Yields:
        What was said and done, without the surroundings, instructions and skills that the
        CLI adds to what the user says.
    """
    for entry in common.parse_lines(lines):
        item = entry.get("payload")
        if entry.get("type") == "response_item" and isinstance(item, dict):
            at = entry.get("timestamp")
            yield from _messages(item, at if isinstance(at, str) else None)


def _messages(item: dict[str, Any], at: str | None) -> Iterator[Message]:
    kind = item.get("type")
    if kind == "message" and item.get("role") in ("user", "assistant"):
        texts = _texts(item.get("content"))
        if item["role"] == "user":
            texts = [text for text in texts if not _INJECTED.fullmatch(text)]
        if texts:
            yield Message(item["role"], "\n".join(texts), at)
    elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
        call = item.get("arguments") or item.get("input") or item.get("action")
        yield Message("tool call", f"{item.get('name', kind)} {_text(call)}", at)
    elif kind in ("function_call_output", "custom_tool_call_output"):
        yield Message("tool result", _text(item.get("output")), at)


def _texts(parts: object) -> list[str]:
    return [
        str(part.get("text", ""))
        for part in (parts if isinstance(parts, list) else ())
        if isinstance(part, dict)
    ]


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
