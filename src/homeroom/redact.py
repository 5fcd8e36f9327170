"""Secrets replaced in text that is kept or shown: by shape, and by value."""

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
    rb"|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"
    rb"|-----BEGIN [A-Z ]*PRIVATE KEY-----.+?-----END [A-Z ]*PRIVATE KEY-----",
    re.DOTALL,
)
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
    for value in sorted(set(values), key=len, reverse=True):
        if len(value) >= _SHORTEST_VALUE:
            content = content.replace(value.encode(), MASK.encode())
    return _SHAPES.sub(MASK.encode(), content)
