#!/usr/bin/env python3
"""Write docs/reference/srt-versions.md from the table of capabilities and container/matrix.toml."""

import re
import sys
import tomllib
from pathlib import Path

from homeroom.sandbox import capabilities
from homeroom.sandbox.capabilities import FLOOR, NEWEST_TRIED, Capabilities

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "docs" / "reference" / "srt-versions.md"
_HEAD = """\
# Versions of srt

<!-- Made by scripts/generate_srt_versions.py; do not edit. -->

What homeroom asks of each version that the [matrix](../explanation/matrix.md) tries, and whether
`start` takes it. An option that a version does not know is never sent to it.
`tests/sandbox/test_capabilities.py` asks the schemas in the published packages the same.

"""
_TAIL = """
The others are refused with exit code 77; `--allow-untried` is the way past. Where versions are
known to behave differently, `container/matrix.toml` says why.
"""


def render() -> str:
    """Render the page.

    Returns:
        It, as Markdown.
    """
    catalogue = tomllib.loads((ROOT / "container" / "matrix.toml").read_text(encoding="utf-8"))
    names = list(Capabilities.__struct_fields__)
    heads = ["srt", "`start`", *(name.replace("_", " ") for name in names)]
    rows = [
        [version, "yes" if _is_taken(version) else "no", *_words(version, names)]
        for version in catalogue["srt"]["versions"]
    ]
    table = [heads, ["---"] * len(heads), *rows]
    lines = "".join(f"| {' | '.join(row)} |\n" for row in table)
    return f"{_HEAD}{lines}\n{_meanings(names)}{_TAIL}"


def _is_taken(version: str) -> bool:
    return FLOOR <= capabilities.parse(version) <= NEWEST_TRIED


def _words(version: str, names: list[str]) -> list[str]:
    known = capabilities.of(version)
    return ["yes" if getattr(known, name) else "" for name in names]


def _meanings(names: list[str]) -> str:
    """Take what each means from where it is defined."""
    said = re.split(rf"^ *({'|'.join(names)}): ", str(Capabilities.__doc__), flags=re.MULTILINE)[1:]
    pairs = zip(said[::2], said[1::2], strict=True)
    return "".join(
        f"- {name.replace('_', ' ')}: {' '.join(text.split())}\n" for name, text in pairs
    )


if __name__ == "__main__":
    TARGET.write_text(render(), encoding="utf-8")
    sys.exit()
