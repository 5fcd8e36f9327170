"""Codex's rollouts: what was said, without what the CLI says in the user's place."""

import json
import re
from collections.abc import Iterator
from typing import Any

from homeroom.provider import common
from homeroom.provider.values import Message

# What the CLI puts before the prompt and sends as the user's words, by the kind that it notes
# beside each part (0.171.0). The model needs it, and nobody has said it.
_KINDS = "internal_chat_message_metadata_passthrough", "content_item_kinds"
_INJECTED_KINDS = (
    "agents_md.instructions",
    "environments.environment_context",
    "skills.selected_skill_instructions",
)
# The same where no kind is noted, as by older versions; one tag is an older version's. Exactly
# as it is written, and one block alone: around what only looks like it somebody has said more.
_INJECTED = re.compile(
    r"<(environment_context|user_instructions|skill(?=>\n<name>))>\n(?:(?!</\1>).)*\n?</\1>\s*"
    r"|# AGENTS\.md instructions for [^\n]+\n\n<INSTRUCTIONS>\n(?:(?!</INSTRUCTIONS>).)*"
    r"</INSTRUCTIONS>\s*",
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
            kinds = _kinds(item, len(texts))
            pairs = zip(texts, kinds, strict=True)
            texts = [text for text, kind in pairs if not _is_injected(text, kind)]
        if texts:
            yield Message(item["role"], "\n".join(texts), at)
    elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
        call = item.get("arguments") or item.get("input") or item.get("action")
        yield Message("tool call", f"{item.get('name', kind)} {_text(call)}", at)
    elif kind in ("function_call_output", "custom_tool_call_output"):
        yield Message("tool result", _text(item.get("output")), at)


def _is_injected(text: str, kind: str) -> bool:
    if kind in _INJECTED_KINDS:
        return True
    return not kind.startswith("user.") and _INJECTED.fullmatch(text) is not None


def _kinds(item: dict[str, Any], count: int) -> list[str]:
    """Read of which kind each part is; empty where that is not noted for each."""
    noted = item.get(_KINDS[0])
    kinds = noted.get(_KINDS[1]) if isinstance(noted, dict) else None
    if not isinstance(kinds, list) or len(kinds) != count:
        return [""] * count
    return [kind if isinstance(kind, str) else "" for kind in kinds]


def _texts(parts: object) -> list[str]:
    return [
        str(part.get("text", ""))
        for part in (parts if isinstance(parts, list) else ())
        if isinstance(part, dict)
    ]


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
