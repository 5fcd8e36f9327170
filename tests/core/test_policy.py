"""The rules of a sandbox, against a model so simple that it is plainly right."""

import os
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from homeroom.errors import ConfigError
from homeroom.policy import Policy, around, existing, reduced

NAMES = ("a", "b", "ab")
ROOT = Path("/")


def everything(depth: int) -> list[Path]:
    """List every path up to a depth: few enough to be looked at one by one."""
    found = level = [ROOT]
    for _ in range(depth):
        level = [path / name for path in level for name in NAMES]
        found = [*found, *level]
    return found


ALL = everything(3)
some = st.lists(st.sampled_from(ALL[1:]), max_size=4).map(tuple)
policies = st.builds(
    Policy,
    deny_read=some,
    allow_read=some,
    allow_write=some,
    deny_write=some,
    hosts=st.just(()),
)


def holders(path: Path) -> list[Path]:
    """Give the path and what holds it, nearest first."""
    return [path, *path.parents]


@given(rules=policies)
def test_the_nearest_rule_decides_what_can_be_read(rules: Policy) -> None:
    for path in ALL:
        expected = True
        for holder in holders(path):
            if holder in (*rules.allow_read, *rules.allow_write):
                break
            if holder in rules.deny_read:
                expected = False
                break
        assert rules.is_readable(path) == expected


@given(rules=policies)
def test_only_what_is_named_and_not_excepted_can_be_written(rules: Policy) -> None:
    for path in ALL:
        above = set(holders(path))
        expected = bool(above & set(rules.allow_write)) and not above & set(rules.deny_write)
        assert rules.is_writable(path) == (expected and rules.is_readable(path))


def test_a_denied_directory_within_a_writable_one_cannot_be_written() -> None:
    rules = Policy((ROOT / "a/b",), (), (ROOT / "a",), (), ())
    assert rules.is_writable(ROOT / "a/c")
    assert not rules.is_writable(ROOT / "a/b/c")


def test_a_name_that_only_begins_like_a_rule_is_another() -> None:
    rules = Policy((ROOT / "a",), (), (), (), ())
    assert not rules.is_readable(ROOT / "a/x")
    assert rules.is_readable(ROOT / "ab")


@given(paths=st.lists(st.sampled_from(ALL), max_size=8))
def test_reduced_paths_hold_the_same_and_none_holds_another(paths: list[Path]) -> None:
    result = reduced(paths)
    for path in ALL:
        assert (not set(holders(path)).isdisjoint(result)) == (
            not set(holders(path)).isdisjoint(paths)
        )
    assert all(a == b or not a.is_relative_to(b) for a in result for b in result)
    assert len(set(result)) == len(result)
    assert list(result) == sorted(result, key=paths.index)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of the paths above, for real, with a file in each directory."""
    base = tmp_path_factory.mktemp("tree")
    for path in ALL:
        directory = base / path.relative_to(ROOT)
        directory.mkdir(exist_ok=True)
        (directory / "file").touch()
    return base


@given(paths=some, holes=some)
def test_around_covers_everything_but_the_holes(
    tree: Path, paths: tuple[Path, ...], holes: tuple[Path, ...]
) -> None:
    wanted = [tree / path.relative_to(ROOT) for path in paths]
    left_out = [tree / path.relative_to(ROOT) for path in holes]
    result = around(wanted, left_out)
    assert not [path for path in result for hole in left_out if hole.is_relative_to(path)]
    for path in tree.rglob("file"):
        is_wanted = any(path.is_relative_to(other) for other in wanted)
        in_hole = any(path.is_relative_to(other) for other in left_out)
        covered = any(path.is_relative_to(other) for other in result)
        if not in_hole:
            assert covered == is_wanted
        elif not any(other.is_relative_to(hole) for other in wanted for hole in left_out):
            assert not covered


@given(paths=some, holes=some)
def test_around_keeps_what_holds_no_hole_as_it_is(
    tree: Path, paths: tuple[Path, ...], holes: tuple[Path, ...]
) -> None:
    wanted = [tree / path.relative_to(ROOT) for path in paths]
    left_out = [tree / path.relative_to(ROOT) for path in holes]
    assume(not any(hole.is_relative_to(path) for path in wanted for hole in left_out))
    assert around(wanted, left_out) == tuple(dict.fromkeys(wanted))


def test_around_names_no_symlink(tmp_path: Path) -> None:
    for name in ("hole", "real"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to("real")
    assert around([tmp_path], [tmp_path / "hole"]) == (tmp_path / "real",)


def test_a_directory_with_too_many_entries_is_refused(tmp_path: Path) -> None:
    for number in range(201):
        (tmp_path / str(number)).touch()
    assert around([tmp_path], []) == (tmp_path,)
    with pytest.raises(ConfigError, match="201 other entries"):
        around([tmp_path], [tmp_path / "7"])


def test_a_directory_that_cannot_be_listed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be listed") as told:
        around([tmp_path / "file"], [tmp_path / "file/hole"])
    assert str(tmp_path / "file") in told.value.message


def test_only_what_exists_is_kept_and_by_its_real_name(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dangling").symlink_to("nowhere")
    names = ("link", "dangling", "missing", "real")
    assert (
        existing(tmp_path / name for name in names)
        == (Path(os.path.realpath(tmp_path / "real")),) * 2
    )
