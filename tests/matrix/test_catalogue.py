"""Constraints on versions, and the file of known differences."""

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeroom.errors import ConfigError
from homeroom.sandbox.capabilities import FLOOR, NEWEST_TRIED, parse
from homeroom.toolchain import pins
from matrix import catalogue
from matrix.context import ROOT
from matrix.grid import COLUMNS
from tests.matrix.cells import expect

FILE = ROOT / "container" / "matrix.toml"
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
}
versions = st.lists(st.integers(0, 120), min_size=3, max_size=3).map(tuple)


def text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


@given(left=versions, right=versions, symbol=st.sampled_from(sorted(OPERATORS)))
def test_versions_are_compared_by_number(
    left: tuple[int, ...], right: tuple[int, ...], symbol: str
) -> None:
    answer = catalogue.satisfies(text(left), f"{symbol}{text(right)}")
    assert answer == OPERATORS[symbol](left, right)


@given(version=versions, low=versions, high=versions)
def test_all_comparisons_of_a_constraint_must_hold(
    version: tuple[int, ...], low: tuple[int, ...], high: tuple[int, ...]
) -> None:
    answer = catalogue.satisfies(text(version), f">={text(low)} <{text(high)}")
    assert answer == (low <= version < high)


@pytest.mark.parametrize(
    ("versions", "behaviours", "asked"),
    [
        ("<0.0.50", ("read.*",), ("0.0.50", "read.canary", "plain")),
        ("<0.0.50", ("read.*",), ("0.0.49", "write.tmp", "plain")),
        ("<0.0.50", ("read.canary",), ("0.0.49", "read.canary", "root")),
    ],
)
def test_an_entry_covers_only_its_versions_behaviours_and_user(
    versions: str, behaviours: tuple[str, ...], asked: tuple[str, str, str]
) -> None:
    entry = expect(versions, *behaviours, user="plain")
    assert entry.covers("0.0.49", "read.canary", "plain")
    version, behaviour, user = asked
    assert not entry.covers(version, behaviour, "root" if user == "root" else "plain")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[srt]\n", "versions"),
        ("versions = 1", "versions"),
        ("[srt]\nversions = []\nci = []\nmore = 1\n", "more"),
        ("no toml", "matrix.toml"),
        (
            '[srt]\nversions=[]\nci=[]\n[[expected]]\nversions="~1"\nbehaviours=["*"]\nreason="x"\n',
            "is not a comparison",
        ),
    ],
)
def test_a_faulty_file_is_refused_by_name(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "matrix.toml"
    path.write_text(content)
    with pytest.raises(ConfigError, match=said) as caught:
        catalogue.load(path)
    assert str(path) in str(caught.value)


def test_the_grid_has_the_floor_the_pinned_and_the_newest_tried_version() -> None:
    known = catalogue.load(FILE)
    pinned = pins.load().tools["srt"].version
    for wanted in (text(FLOOR), text(NEWEST_TRIED), pinned):
        assert wanted in known.srt.versions
        assert wanted in known.srt.ci
    assert list(known.srt.versions) == sorted(set(known.srt.versions), key=parse)
    assert set(known.srt.ci) <= set(known.srt.versions)


def test_every_known_difference_is_about_something_that_is_tried_and_says_why() -> None:
    known = catalogue.load(FILE)
    for entry in known.expected:
        assert len(entry.reason) > 20
        assert any(
            entry.covers(version, column.name, user)
            for version in known.srt.versions
            for column in COLUMNS
            for user in ("plain", "root")
        ), entry


def test_no_supported_version_is_known_to_differ() -> None:
    known = catalogue.load(FILE)
    supported = [version for version in known.srt.versions if parse(version) >= FLOOR]
    users: tuple[catalogue.User, ...] = ("plain", "root")
    for version in supported:
        for column in COLUMNS:
            assert not any(known.explain(version, column.name, user) for user in users)
