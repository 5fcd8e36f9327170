"""The check before a toolchain is published, on trees that fake what they hold."""

import json
from pathlib import Path
from typing import Any

import pytest

from homeroom.errors import IntegrityError, ToolError
from homeroom.toolchain.health import check, damages
from homeroom.toolchain.pins import Pins, load
from homeroom.toolchain.store import NODE, PACKAGES, layout


@pytest.fixture(scope="module")
def pins() -> Pins:
    return load()


class Tree:
    """A tree with every file of the pins, and a Node.js that says what it is told to."""

    def __init__(self, root: Path, pins: Pins) -> None:
        self.root = root
        for tool in layout(root, pins).tools.values():
            tool.path.parent.mkdir(parents=True, exist_ok=True)
            tool.path.write_text(tool.name)
            tool.path.chmod(0o700)
        for pin in pins.tools.values():
            self.describe(pin.package, {"version": pin.version, "engines": {"node": ">=22"}})
        self.node = root / NODE / pins.node.file
        self.says([f"v{pins.node.version}", *[True] * len(pins.tools)])

    def describe(self, package: str, content: object) -> None:
        path = self.root / PACKAGES / package / "package.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))

    def says(self, answer: object, script: str = "echo '%s'") -> None:
        self.node.write_text(f"#!/bin/sh\n{script.replace('%s', json.dumps(answer))}\n")


@pytest.fixture
def tree(tmp_path: Path, pins: Pins) -> Tree:
    return Tree(tmp_path / "tree", pins)


def test_a_good_tree_gets_the_hash_of_each_program(tree: Tree, pins: Pins) -> None:
    found = check(tree.root, pins)
    assert found.lock_hash == pins.lock_hash
    assert all(tool.hash.startswith("sha256:") for tool in found.tools.values())
    assert len({tool.hash for tool in found.tools.values()}) == len(found.tools)
    assert list(damages(found, thorough=True)) == []


@pytest.mark.parametrize("name", ["node", "srt", "claude", "codex", "ripgrep", "model-server"])
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("missing", "cannot be looked at"),
        ("closed", "not executable"),
        ("symlink", "not a regular file"),
        ("directory", "not a regular file"),
    ],
)
def test_a_program_that_is_none_is_refused(
    tree: Tree, pins: Pins, name: str, kind: str, words: str
) -> None:
    good = check(tree.root, pins)
    path = good.tools[name].path
    if kind == "closed":
        path.chmod(0o600)
    else:
        path.rename(path.with_name("moved"))
    if kind == "symlink":
        path.symlink_to("moved")
    elif kind == "directory":
        path.mkdir()
    with pytest.raises(IntegrityError, match=f"{name} .*{words}"):
        check(tree.root, pins)
    (damage,) = damages(good, thorough=False)
    assert name in damage
    assert words in damage


def test_a_changed_program_is_seen_by_the_thorough_look_alone(tree: Tree, pins: Pins) -> None:
    good = check(tree.root, pins)
    good.tools["srt"].path.write_text("changed")
    assert list(damages(good, thorough=False)) == []
    (damage,) = damages(good, thorough=True)
    assert damage.startswith("srt: ")


@pytest.mark.parametrize("content", [{"version": "0.0.1"}, {}, [], 1, None])
def test_a_package_of_another_version_is_refused(tree: Tree, pins: Pins, content: Any) -> None:
    tree.describe(pins.tools["srt"].package, content)
    with pytest.raises(IntegrityError, match=r"srt is|no usable package\.json"):
        check(tree.root, pins)


def test_a_node_of_another_version_is_refused(tree: Tree, pins: Pins) -> None:
    tree.says(["v20.0.0", *[True] * len(pins.tools)])
    with pytest.raises(IntegrityError, match=r"v20\.0\.0, pinned is"):
        check(tree.root, pins)


def test_a_node_that_a_tool_does_not_accept_is_refused(tree: Tree, pins: Pins) -> None:
    tree.says([f"v{pins.node.version}", False, *[True] * (len(pins.tools) - 1)])
    with pytest.raises(ToolError, match=r"srt needs Node\.js >=22"):
        check(tree.root, pins)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'libstdc++.so.6: not found' >&2; exit 127", "libstdc"),
        ("echo hello", "does not run here"),
        ("kill -SEGV $$", "does not run here"),
    ],
)
def test_a_node_that_does_not_run_is_told(tree: Tree, pins: Pins, script: str, words: str) -> None:
    tree.says([], script)
    with pytest.raises(ToolError, match=words):
        check(tree.root, pins)


def test_a_node_of_another_machine_is_told(tree: Tree, pins: Pins) -> None:
    tree.node.write_bytes(b"\x7fELF of another machine")
    with pytest.raises(ToolError, match="does not run here"):
        check(tree.root, pins)
