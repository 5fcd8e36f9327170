"""Secrets replaced in text that is kept or shown: by shape, and by value."""

import json
import re
from collections.abc import Iterable

MASK = "[redacted]"

# Shapes published by their issuers: Anthropic and OpenAI keys, GitHub tokens, AWS key
# ids, Slack tokens, Google keys, JSON web tokens, PEM private keys.
_SHAPES = re.compile(
    rb"sk-ant-[A-Za-z0-9_-]{16,}"
    rb"|sk-(?:proj-)?[A-Za-z0-9_-]{20,}"
    rb"|gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,}"
    rb"|(?:AKIA|ASIA)[A-Z0-9]{16}"
    rb"|xox[abprs]-[A-Za-z0-9-]{10,}"
    rb"|AIza[A-Za-z0-9_-]{35}"
    # Up to the next beginning at most: an agent may have written a million of them.
    rb"|-----BEGIN [A-Z ]*PRIVATE KEY-----(?:(?!-----BEGIN ).)+?"
    rb"(?:-----END [A-Z ]*PRIVATE KEY-----|(?=-----BEGIN [A-Z ]*PRIVATE KEY-----))",
    re.DOTALL,
)
# JSON web tokens. Looked for at the beginning of a word, and at its first "eyJ" alone: else a
# word of nothing but those would be read to its end again from each.
_TOKEN = re.compile(
    rb"(?<![A-Za-z0-9_-])(?>([A-Za-z0-9_-]*?)eyJ[A-Za-z0-9_-]{10,}+)"
    rb"\.eyJ[A-Za-z0-9_-]{10,}+\.[A-Za-z0-9_-]{10,}+"
)
_TOKEN_START = b"eyJ"
_SHORTEST_VALUE = 8


def redact(content: bytes, values: Iterable[str] = ()) -> bytes:
    """Replace secrets in a text.

    Args:
        content: The text.
        values: Secrets known by value; those under 8 characters are ignored, they would
            match by accident.

    Returns:
        The text with ``[redacted]`` in place of each secret.
    """
    known = {form for value in values if len(value) >= _SHORTEST_VALUE for form in _forms(value)}
    for form in sorted(known, key=len, reverse=True):
        content = content.replace(form, MASK.encode())
    # Most texts have none, and to look at each of their words takes five times as long.
    if _TOKEN_START in content:
        content = _TOKEN.sub(rb"\1" + MASK.encode(), content)
    return _SHAPES.sub(MASK.encode(), content)


def _forms(value: str) -> set[bytes]:
    """Spell a value as it is, and as a string of JSON has it: transcripts are JSON."""
    spelled = (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])
    # An environment's value may hold bytes that are no UTF-8.
    return {text.encode(errors="surrogatepass") for text in spelled}
