"""Spans of time, as people write them."""

import re

WRITTEN = "30d, 12h, 5m or 90s"
_SPAN = re.compile(r"([0-9]+)([smhdw])")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def seconds(text: str) -> float:
    """Read a span of time.

    Args:
        text: A whole number and its unit: s, m, h, d or w.

    Returns:
        Seconds.

    Raises:
        ValueError: It is none.
    """
    match = _SPAN.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a span of time")
    return float(match[1]) * _UNITS[match[2]]
