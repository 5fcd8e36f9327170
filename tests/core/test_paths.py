"""Where homeroom keeps things."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeroom.home import instance_of, new_run_id
from homeroom.paths import HOME_VARIABLE, Paths, locate
from tests.support.tree import snapshot

SUN_PATH = 107
LONGEST_SOCKET_NAME = 50


def directories(paths: Paths) -> dict[str, Path]:
    names = ("config_file", "toolchains", "instances", "runs", "transcripts", "trash")
    return {name: getattr(paths, name) for name in names}


def test_one_variable_moves_everything_under_one_root(tmp_path: Path) -> None:
    paths = locate({HOME_VARIABLE: str(tmp_path / "root")})
    found = [*directories(paths).values(), paths.temp]
    assert all(path.is_relative_to(tmp_path / "root") for path in found)
    assert len(set(found)) == len(found)


def test_looking_makes_nothing(tmp_path: Path) -> None:
    before = snapshot(tmp_path)
    locate({HOME_VARIABLE: str(tmp_path / "root")})
    assert snapshot(tmp_path) == before


def test_symlinks_on_the_way_are_resolved(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    paths = locate({HOME_VARIABLE: str(tmp_path / "link/x/../root")})
    assert paths.state == tmp_path / "real/root/state"


def test_a_relative_root_is_made_absolute() -> None:
    assert locate({HOME_VARIABLE: "some/where"}).state == Path.cwd() / "some/where/state"


def test_an_empty_variable_is_as_good_as_none() -> None:
    assert locate({HOME_VARIABLE: ""}) == locate({})


def test_without_the_variable_the_platform_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, f"/nowhere/{name}")
    paths = locate({})
    if os.uname().sysname == "Linux":
        assert paths.config == Path("/nowhere/XDG_CONFIG_HOME/homeroom")
        assert paths.data == Path("/nowhere/XDG_DATA_HOME/homeroom")
        assert paths.state == Path("/nowhere/XDG_STATE_HOME/homeroom")
    assert all(path.is_absolute() for path in directories(paths).values())
    monkeypatch.undo()


@given(parts=st.lists(st.text("ab ä'\"$\n", min_size=1, max_size=40), max_size=8))
def test_a_socket_in_the_temporary_directory_of_any_root_can_be_bound(parts: list[str]) -> None:
    paths = locate({HOME_VARIABLE: "/" + "/".join(["nowhere", *parts])})
    longest = instance_of(paths, new_run_id()).tmp / ("s" * LONGEST_SOCKET_NAME)
    assert len(os.fsencode(longest)) <= SUN_PATH


def test_the_shared_temporary_directory_names_the_user() -> None:
    paths = locate({HOME_VARIABLE: "/" + "long/" * 40})
    assert paths.temp.name == f"homeroom-{os.geteuid()}"
    assert paths.temp == Path(os.path.realpath(paths.temp))
