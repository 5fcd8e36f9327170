"""Saying where a page of the documentation is on this machine."""

import re
from pathlib import Path

import homeroom

_PAGE = re.compile(r"docs/[\w/-]+\.md")
_PACKAGE = Path(homeroom.__file__).parent
# A checkout has the package in src/; an installed one is in <prefix>/lib/pythonX.Y/site-packages.
_PLACES = (_PACKAGE.parents[1], _PACKAGE.parents[3] / "share" / "doc" / "homeroom")


def located(text: str) -> str:
    """Name pages by where they can be opened.

    Args:
        text: A hint that may name pages, such as ``docs/how-to/disk-full.md``.

    Returns:
        The same with full paths, as far as the pages are installed.
    """
    return _PAGE.sub(_located, text)


def _located(match: re.Match[str]) -> str:
    for place in _PLACES:
        if (page := place / match[0]).is_file():
            return str(page)
    return match[0]
