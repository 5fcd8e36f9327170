"""Trees on their way out: gone whatever they hold, and nothing else with them."""

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homeroom.errors import StateError
from homeroom.trash import discard, leftovers, remove_trees
from tests.core.kinds import dig
from tests.support.tree import snapshot


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """What is the user's, and must be there unchanged after each test."""
    directory = tmp_path / "outside"
    directory.mkdir()
    (directory / "file").write_bytes(b"mine")
    (directory / "protected").mkdir(0o500)
    before = snapshot(directory)
    yield directory
    assert snapshot(directory) == before


def test_everything_an_agent_can_make_is_removed(tmp_path: Path, outside: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    raw = os.fsencode(tree)
    for odd in (b"new\nline", b"\xff\xfe", b"-rf", b"*", b"n" * 255, " ü".encode()):
        with open(os.path.join(raw, odd), "wb"):
            pass
    (tree / "to-file").symlink_to(outside / "file")
    (tree / "to-directory").symlink_to(outside)
    (tree / "dangling").symlink_to("nowhere")
    (tree / "loop").symlink_to("loop")
    os.link(outside / "file", tree / "hard")
    os.unlink(tree / "hard")
    os.mkfifo(tree / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tree / "socket"))
    for name, bits in (("read-only", 0o500), ("closed", 0o000), ("unlisted", 0o300)):
        (tree / name / "sub").mkdir(parents=True)
        (tree / name / "sub" / "file").touch(0o000)
        (tree / name / "sub").chmod(bits)
        (tree / name).chmod(bits)
    tree.chmod(0o500)
    remove_trees(tree)
    assert not os.path.lexists(tree)


@pytest.mark.parametrize("bits", [0o700, 0o000])
def test_a_tree_deeper_than_any_path_is_removed(tmp_path: Path, bits: int) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    dig(tree, 3000)
    (tree / "d").chmod(bits)
    remove_trees(tree)
    assert not tree.exists()


def test_a_symlink_is_removed_and_not_what_it_names(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "link").symlink_to(outside)
    remove_trees(tmp_path / "link")
    assert not os.path.lexists(tmp_path / "link")


def test_what_is_gone_already_is_no_error(tmp_path: Path) -> None:
    remove_trees(tmp_path / "nothing")
    discard(tmp_path / "nothing", tmp_path / "trash")
    assert os.listdir(tmp_path / "trash") == []


NAMES = st.binary(min_size=1, max_size=8).filter(
    lambda name: not set(name) & {0, 47} and name not in (b".", b"..")
)
ENTRIES = st.recursive(
    st.sampled_from([0o600, 0o000, "outside", ".."]),
    lambda inner: st.tuples(
        st.sampled_from([0o700, 0o500, 0o300, 0o000]),
        st.dictionaries(NAMES, inner, max_size=3),
    ),
    max_leaves=8,
)


def build(path: bytes, entry: object, outside: Path) -> None:
    if isinstance(entry, tuple):
        bits, children = entry
        os.mkdir(path)
        for name, child in children.items():
            build(os.path.join(path, name), child, outside)
        os.chmod(path, bits)
    elif isinstance(entry, int):
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
        os.chmod(path, entry)
    else:
        os.symlink(outside if entry == "outside" else "..", path)


@settings(max_examples=40)
@given(children=st.dictionaries(NAMES, ENTRIES, max_size=4))
def test_any_tree_is_removed_and_nothing_beside_it(
    tmp_path_factory: pytest.TempPathFactory, children: dict[bytes, object]
) -> None:
    base = tmp_path_factory.mktemp("trash")
    outside = base / "outside"
    outside.mkdir()
    (outside / "file").write_bytes(b"mine")
    before = snapshot(outside)
    build(os.fsencode(base / "tree"), (0o700, children), outside)
    discard(base / "tree", base / "trash")
    assert sorted(os.listdir(base)) == ["outside", "trash"]
    assert os.listdir(base / "trash") == []
    assert snapshot(outside) == before


def test_the_trash_is_private(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    discard(tmp_path / "tree", tmp_path / "trash")
    assert stat.S_IMODE((tmp_path / "trash").stat().st_mode) == 0o700


def test_trees_of_one_name_do_not_meet_in_the_trash(tmp_path: Path) -> None:
    trash = tmp_path / "trash"
    for _ in range(2):
        (tmp_path / "tree").mkdir()
        discard(tmp_path / "tree", trash)
    assert os.listdir(trash) == []


def test_a_trash_that_is_a_symlink_is_refused_before_anything_moves(
    tmp_path: Path, outside: Path
) -> None:
    (tmp_path / "trash").symlink_to(outside)
    (tmp_path / "tree").mkdir()
    with pytest.raises(StateError, match="is a symlink"):
        discard(tmp_path / "tree", tmp_path / "trash")
    assert (tmp_path / "tree").is_dir()


def test_leftovers_are_found_by_their_full_path(tmp_path: Path) -> None:
    trash = tmp_path / "own" / "trash"
    (trash / "b").mkdir(parents=True)
    (trash / "a").symlink_to("nowhere")
    for directory in (trash, trash.parent):
        directory.chmod(0o700)
    missing = tmp_path / "own" / "missing"
    assert leftovers([missing, trash]) == [trash / "a", trash / "b"]


def test_a_trash_that_someone_else_prepared_is_not_emptied(tmp_path: Path, outside: Path) -> None:
    """The short temporary directory lies in /tmp, where anyone can make it first."""
    trap = tmp_path / "homeroom-1000"
    trap.mkdir()
    (trap / "trash").symlink_to(outside)
    for bits in (0o777, 0o755, 0o700):
        trap.chmod(bits)
        with pytest.raises(StateError):
            leftovers([trap / "trash"])
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "trash").mkdir(0o700)
    with pytest.raises(StateError):
        leftovers([tmp_path / "link" / "trash"])
