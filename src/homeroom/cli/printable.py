"""Text that an agent may have written, made safe for a terminal."""

import re

# Control characters but for the newline and the tabulator, and what turns the direction of text.
_ORDERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_BREAKS = re.compile(r"[\n\t\u2028\u2029]")


def printable(text: str) -> str:
    """Replace what a terminal would obey instead of showing it."""
    return _ORDERS.sub("\ufffd", text)


def in_one_line(text: str) -> str:
    """Replace what begins another line or column as well: for rows, which nobody may forge."""
    return _BREAKS.sub("\ufffd", printable(text))
