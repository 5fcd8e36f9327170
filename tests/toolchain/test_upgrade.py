"""Pins are rewritten from the registries by the registries' own clients."""

import json

import pytest

from homeroom.errors import ToolError, TryAgainError, UsageError
from homeroom.toolchain import upgrade as module
from homeroom.toolchain.data import LOCK_DIR, LOCK_FILES
from homeroom.toolchain.host import PLATFORMS
from homeroom.toolchain.pins import load
from homeroom.toolchain.upgrade import upgrade
from tests.conftest import PrivateHome
from tests.support.tree import Snapshot, snapshot
from tests.toolchain.conftest import SMALL, LockDir, narrow

SCRIPT = "model-server"
OLDER = "1.42.0"


def quiet(_line: str) -> None:
    """Tell nobody."""


@pytest.mark.network
def test_pins_go_to_a_version_and_back_to_the_same_bytes(
    online_home: PrivateHome, lock_dir: LockDir
) -> None:
    narrow(lock_dir, SCRIPT)
    shipped, before = load(lock_dir.path), snapshot(lock_dir.path)
    now = {"node": shipped.node.version, SCRIPT: shipped.tools[SCRIPT].version}
    told: list[str] = []
    changes = upgrade(lock_dir.path, now | {SCRIPT: OLDER}, online_home.env, told.append)
    assert changes == [(SCRIPT, now[SCRIPT], OLDER)]
    assert any(f"@{OLDER}" in line for line in told)
    for platform in PLATFORMS:
        pin = load(lock_dir.path, platform).tools[SCRIPT]
        assert pin.version == OLDER
        assert pin.integrity != shipped.tools[SCRIPT].integrity
    upgrade(lock_dir.path, now, online_home.env, quiet)
    assert digests(snapshot(lock_dir.path)) == digests(before)


def digests(tree: Snapshot) -> dict[str, str]:
    return {name: entry.sha256 for name, entry in tree.items()}


@pytest.mark.network
def test_a_program_that_has_moved_is_told_and_changes_nothing(
    online_home: PrivateHome, small_lock: LockDir
) -> None:
    # Its packages with programs came with 1.18.0; before, a script fetched them.
    before = snapshot(small_lock.path)
    wanted = {"node": load(small_lock.path).node.version, SMALL: "1.17.1"}
    with pytest.raises(ToolError, match=r"edit pins\.json"):
        upgrade(small_lock.path, wanted, online_home.env, quiet)
    assert snapshot(small_lock.path) == before


@pytest.mark.parametrize("answer", ["", "null", '["1.0.0", "1.0.1"]'])
def test_what_is_not_one_version_is_refused(answer: str) -> None:
    class Bench:
        def npm(self, *_: object) -> str:
            return answer

    node = load().node
    with pytest.raises(ToolError, match="no version 1"):
        module._npm_version(Bench(), node, "x", "1")  # type: ignore[arg-type]


def test_an_unreachable_registry_changes_nothing(
    unreachable: PrivateHome, small_lock: LockDir
) -> None:
    before = snapshot(small_lock.path)
    with pytest.raises(TryAgainError):
        upgrade(small_lock.path, {}, unreachable.env, quiet)
    assert snapshot(small_lock.path) == before


def test_an_unknown_tool_is_told(private_home: PrivateHome, small_lock: LockDir) -> None:
    with pytest.raises(UsageError, match="nothing") as told:
        upgrade(small_lock.path, {"nothing": "1.0.0"}, private_home.env, quiet)
    assert SMALL in (told.value.hint or "")


def test_the_newest_even_line_comes_first() -> None:
    class Bench:
        def pip(self, *_: str) -> str:
            return "x (26.1.0)\nAvailable versions: 26.1.0, 25.9.0, 24.9.9, 24.10.0, 26.0.0rc1\n"

    assert module._newest_of_lines(Bench(), "x") == ["26.1.0", "24.10.0"]  # type: ignore[arg-type]


def test_an_installed_package_has_no_pins_to_rewrite(
    monkeypatch: pytest.MonkeyPatch, lock_dir: LockDir
) -> None:
    monkeypatch.setattr(module, "LOCK_DIR", lock_dir.path)
    with pytest.raises(UsageError, match="not a source tree"):
        module.source_lock_dir()


def test_the_shipped_pins_are_as_the_upgrade_writes_them() -> None:
    for name in LOCK_FILES:
        content = (LOCK_DIR / name).read_bytes()
        assert module._pretty(json.loads(content)) == content
