"""A snapshot sees every change that matters, and a tree can always be removed."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.tree import changes, remove_tree, snapshot


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "directory").mkdir(parents=True)
    (root / "directory" / "file").write_text("content")
    (root / "link").symlink_to("directory")
    os.mkfifo(root / "fifo")
    return root


def test_what_stayed_is_equal(tree: Path) -> None:
    before = snapshot(tree)
    (tree / "directory" / "file").read_text()
    assert set(before) == {".", "directory", "directory/file", "link", "fifo"}
    assert snapshot(tree) == before
    assert changes(before, snapshot(tree)) == []


def same_time_other_content(tree: Path) -> None:
    path = tree / "directory" / "file"
    status = path.stat()
    path.write_text("CONTENT")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def later(tree: Path) -> None:
    status = (tree / "directory" / "file").stat()
    os.utime(tree / "directory" / "file", ns=(status.st_atime_ns, status.st_mtime_ns + 1))


def other_target(tree: Path) -> None:
    (tree / "link").unlink()
    (tree / "link").symlink_to("elsewhere")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (same_time_other_content, "directory/file: sha256"),
        (later, "directory/file: mtime_ns"),
        (other_target, "link: "),
        (lambda tree: (tree / "directory" / "file").chmod(0o600), "directory/file: mode"),
        (lambda tree: (tree / "directory" / "file").unlink(), "directory/file: gone"),
        (lambda tree: (tree / "new").touch(), "new: new"),
    ],
)
def test_a_change_is_seen_and_named(
    tree: Path, change: Callable[[Path], object], named: str
) -> None:
    before = snapshot(tree)
    change(tree)
    assert any(line.startswith(named) for line in changes(before, snapshot(tree)))


def test_a_tree_may_be_a_single_file_or_link(tree: Path) -> None:
    assert set(snapshot(tree / "link")) == {"."}
    assert snapshot(tree / "directory" / "file")["."].kind == "file"


def test_what_is_not_there_is_empty(tmp_path: Path) -> None:
    assert snapshot(tmp_path / "missing") == {}


def test_a_write_protected_tree_is_removed(tree: Path) -> None:
    for path in (tree / "directory" / "file", tree / "directory", tree):
        path.chmod(0)
    remove_tree(tree)
    assert not tree.exists()
