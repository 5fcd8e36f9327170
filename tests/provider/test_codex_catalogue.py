"""The models that the pinned Codex knows: none of them brings a question before the prompt."""

import mmap
import re

from homeroom.provider.codex import _PLAIN_MODEL, _UPGRADES
from homeroom.toolchain.store import Toolchain

MODEL = re.compile(
    rb'"slug": "(?P<slug>[^"]+)"'
    rb'(?:(?!"slug": ).){0,60000}?"upgrade": (?:null|\{\s*"model": "(?P<to>[^"]+)")',
    re.DOTALL,
)


def catalogue(toolchain: Toolchain) -> dict[str, str | None]:
    """Read the catalogue in the program: each model, and the one that it would offer instead."""
    with (
        toolchain.tools["codex"].path.open("rb") as program,
        mmap.mmap(program.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        start = content.find(b'"slug": "')
        found = MODEL.finditer(content[start : start + (1 << 24)])
        return {one["slug"].decode(): one["to"].decode() if one["to"] else None for one in found}


def test_every_offer_of_a_newer_model_is_answered(toolchain: Toolchain) -> None:
    known = catalogue(toolchain)
    assert len(known) > 5, "the catalogue is not where it was"
    assert {model: to for model, to in known.items() if to} == _UPGRADES


def test_the_demos_model_is_known(toolchain: Toolchain) -> None:
    assert _PLAIN_MODEL in catalogue(toolchain)
