"""The repository's pages, and what is in them."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose(page: Path) -> str:
    """A page without its fenced blocks and inline code, which hold no links."""
    return re.sub(r"`[^`\n]+`", "", _FENCE.sub("", read(page)))


def shell_lines(page: Path) -> Iterator[str]:
    """Yield each command line of a page's shell blocks; prompts and output are left out."""
    for match in _FENCE.finditer(read(page)):
        language, text = match.groups()
        lines = text.replace("\\\n", " ").splitlines()
        if language == "console":
            lines = [line[2:] for line in lines if line.startswith("$ ")]
        elif language not in ("sh", "bash"):
            continue
        yield from (line.strip() for line in lines if line.strip())


def anchors(page: Path) -> set[str]:
    """Name the headings of a page as the usual renderers do."""
    found = re.findall(r"^#{1,6} +(.+?) *$", _FENCE.sub("", read(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}
