"""The first version that changed a behaviour."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeroom.errors import UsageError
from matrix import bisection
from matrix.bisection import Change, search

VERSIONS = [f"0.0.{number}" for number in range(42, 84)]


class Looks:
    """Tells what each version does, and counts how often it was asked."""

    def __init__(self, values: Sequence[str | None]) -> None:
        self.values = values
        self.asked: list[str] = []

    def __call__(self, version: str) -> str | None:
        self.asked.append(version)
        return self.values[VERSIONS.index(version)]


@given(at=st.integers(1, len(VERSIONS) - 1))
def test_the_first_version_that_differs_is_found_in_few_looks(at: int) -> None:
    looks = Looks(["open" if place < at else "refused" for place in range(len(VERSIONS))])
    assert search(VERSIONS, looks) == Change(VERSIONS[at - 1], VERSIONS[at])
    assert len(looks.asked) == len(set(looks.asked)) <= 8


@given(
    at=st.integers(1, len(VERSIONS) - 1),
    dark=st.sets(st.integers(1, len(VERSIONS) - 2), max_size=12),
)
def test_versions_that_do_not_run_are_skipped_and_named(at: int, dark: set[int]) -> None:
    values = [
        None if place in dark else "open" if place < at else "refused"
        for place in range(len(VERSIONS))
    ]
    change = search(VERSIONS, Looks(values))
    assert change is not None
    before, after = VERSIONS.index(change.before), VERSIONS.index(change.after)
    assert (values[before], values[after]) == ("open", "refused")
    assert before < at <= after
    assert change.skipped == tuple(VERSIONS[before + 1 : after])
    assert set(range(before + 1, after)) <= dark


@given(values=st.lists(st.sampled_from(["open", "refused", "7"]), min_size=42, max_size=42))
def test_what_is_found_are_always_two_neighbours_that_differ(values: list[str]) -> None:
    change = search(VERSIONS, Looks(values))
    if change is None:
        assert values[0] == values[-1]
    else:
        before, after = VERSIONS.index(change.before), VERSIONS.index(change.after)
        assert after == before + 1
        assert values[before] == values[0] != values[after]


def test_an_end_that_does_not_run_is_refused() -> None:
    with pytest.raises(UsageError, match=r"srt 0\.0\.83 did not run"):
        search(VERSIONS, Looks(["open"] * 41 + [None]))


def test_the_same_message_about_other_files_is_the_same() -> None:
    first = bisection.kind("status 1: bwrap: Can't find source path /tmp/cell-1a/x: No such file")
    other = bisection.kind("status 1: bwrap: Can't find source path /tmp/cell-9z/y: No such file")
    assert first == other != bisection.kind("status 1: silence")
    assert bisection.kind("7") != bisection.kind("143")


def test_a_behaviour_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        bisection.main(["no.such-behaviour"])
    assert "read.user-home" in capsys.readouterr().err
