"""Planned, found, required: what is read, and what is refused."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from homeroom.errors import StorageError, ToolError
from homeroom.paths import Paths, locate
from homeroom.toolchain.data import lock_hash
from homeroom.toolchain.store import (
    MARK,
    TOOLCHAIN_VARIABLE,
    Toolchain,
    encode_mark,
    find,
    planned,
    require,
)
from tests.conftest import PrivateHome
from tests.support.ownership import only_root
from tests.support.tree import snapshot
from tests.toolchain.conftest import LockDir


@pytest.fixture
def paths(private_home: PrivateHome) -> Paths:
    return locate(private_home.env)


def make(root: Path, toolchain: Toolchain) -> Path:
    """Write a toolchain's mark below a root, as an install does last."""
    root.mkdir(parents=True, mode=0o700)
    (root / MARK).write_bytes(encode_mark(toolchain, "linux-x64"))
    return root


def spoil(root: Path, change: Any) -> None:
    document = json.loads((root / MARK).read_bytes())
    change(document)
    (root / MARK).write_text(json.dumps(document))


def test_a_plan_touches_nothing(private_home: PrivateHome, paths: Paths) -> None:
    before = snapshot(private_home.home.parent)
    plan = planned(paths, private_home.env)
    assert snapshot(private_home.home.parent) == before
    assert plan.root == paths.toolchains / lock_hash()
    assert set(plan.tools) == {"node", "srt", "claude", "codex", "ripgrep", "model-server"}
    assert all(plan.root in tool.path.parents for tool in plan.tools.values())
    assert plan.tools["node"].hash.startswith("sha256:")
    assert plan.tools["srt"].hash.startswith("sha512-")


def test_nothing_is_found_where_nothing_is(paths: Paths) -> None:
    assert find(paths, {}) is None
    with pytest.raises(ToolError) as told:
        require(paths, {})
    assert told.value.hint == "homeroom setup"


def test_what_is_marked_is_found(paths: Paths) -> None:
    plan = planned(paths, {})
    make(plan.root, plan)
    assert find(paths, {}) == plan
    assert require(paths, {}) == plan


def test_a_moved_toolchain_is_found_where_it_is(paths: Paths, tmp_path: Path) -> None:
    plan = planned(paths, {})
    elsewhere = make(tmp_path / "elsewhere", plan)
    found = find(paths, {TOOLCHAIN_VARIABLE: str(elsewhere)})
    assert found == planned(paths, {TOOLCHAIN_VARIABLE: str(elsewhere)})
    assert found.root == elsewhere


def test_a_tree_without_a_mark_is_not_whole(paths: Paths) -> None:
    plan = planned(paths, {})
    make(plan.root, plan)
    (plan.root / MARK).unlink()
    assert find(paths, {}) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"schema": 1}', b"\xff"])
def test_a_damaged_mark_is_not_whole(paths: Paths, content: bytes) -> None:
    plan = planned(paths, {})
    make(plan.root, plan)
    (plan.root / MARK).write_bytes(content)
    assert find(paths, {}) is None
    with pytest.raises(ToolError, match="not a whole toolchain"):
        find(paths, {TOOLCHAIN_VARIABLE: str(plan.root)})


def test_a_mark_that_points_outside_is_not_whole(paths: Paths) -> None:
    plan = planned(paths, {})
    make(plan.root, plan)
    for path in ("/bin/sh", "../../../bin/sh", "node/../../sh"):
        spoil(plan.root, lambda it, path=path: it["tools"]["node"].update(path=path))
        assert find(paths, {}) is None


def test_a_mark_that_is_a_symlink_or_a_fifo_is_not_whole(paths: Paths, tmp_path: Path) -> None:
    plan = planned(paths, {})
    make(plan.root, plan)
    (plan.root / MARK).rename(tmp_path / "real")
    (plan.root / MARK).symlink_to(tmp_path / "real")
    assert find(paths, {}) is None
    (plan.root / MARK).unlink()
    os.mkfifo(plan.root / MARK)
    assert find(paths, {}) is None


def test_other_pins_find_nothing(paths: Paths, lock_dir: LockDir) -> None:
    plan = planned(paths, {})
    make(plan.root, plan)
    lock_dir.edit("pins.json", lambda pins: pins["tools"].pop("srt"))
    assert find(paths, {}, lock_dir.path) is None


def test_a_named_toolchain_of_other_pins_is_refused(paths: Paths, tmp_path: Path) -> None:
    root = make(tmp_path / "old", planned(paths, {}))
    spoil(root, lambda it: it.update(lock_hash="0" * 32))
    with pytest.raises(ToolError, match=f"other pins.*{lock_hash()}") as told:
        find(paths, {TOOLCHAIN_VARIABLE: str(root)})
    assert TOOLCHAIN_VARIABLE in (told.value.hint or "")


@pytest.mark.parametrize("kind", ["missing", "empty", "file"])
def test_a_named_toolchain_that_is_none_is_refused(paths: Paths, tmp_path: Path, kind: str) -> None:
    named = tmp_path / "named"
    if kind == "empty":
        named.mkdir(0o700)
    elif kind == "file":
        named.touch()
    with pytest.raises(ToolError, match="not a whole toolchain"):
        find(paths, {TOOLCHAIN_VARIABLE: str(named)})


def test_a_relative_toolchain_is_refused(paths: Paths) -> None:
    with pytest.raises(ToolError, match="absolute"):
        find(paths, {TOOLCHAIN_VARIABLE: "toolchain"})


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o1777])
def test_a_toolchain_that_others_can_write_is_refused(paths: Paths, mode: int) -> None:
    plan = planned(paths, {})
    make(plan.root, plan).chmod(mode)
    with pytest.raises(ToolError, match="others could have written"):
        find(paths, {})


@only_root
def test_a_toolchain_of_someone_else_is_refused(paths: Paths) -> None:
    plan = planned(paths, {})
    os.chown(make(plan.root, plan), 65534, 65534)
    with pytest.raises(ToolError, match="uid 65534"):
        find(paths, {})


def test_a_toolchain_behind_a_symlink_is_not_ours(paths: Paths, tmp_path: Path) -> None:
    plan = planned(paths, {})
    make(tmp_path / "elsewhere", plan)
    plan.root.parent.mkdir(parents=True)
    plan.root.symlink_to(tmp_path / "elsewhere")
    assert find(paths, {}) is None


def test_unreadable_pins_are_told(paths: Paths, lock_dir: LockDir) -> None:
    (lock_dir.path / "pins.json").unlink()
    with pytest.raises(StorageError, match="pins"):
        find(paths, {}, lock_dir.path)
