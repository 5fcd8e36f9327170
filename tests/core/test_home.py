"""The instance tree: made private, known by its mark, and wiped whole."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeroom.errors import HomeroomError, StateError
from homeroom.home import (
    MARK,
    RUN_ID,
    Instance,
    instance_of,
    is_marked,
    materialize,
    new_run_id,
    wipe,
)
from homeroom.paths import Paths, locate
from tests.core.kinds import dig
from tests.support.tree import snapshot


@pytest.fixture
def instance(paths: Paths) -> Instance:
    return instance_of(paths, new_run_id())


def modes(*roots: Path) -> dict[str, int]:
    found = {}
    for root in roots:
        for path in (root, *root.rglob("*")):
            found[str(path)] = stat.S_IMODE(os.lstat(path).st_mode)
    return found


def test_a_run_id_is_of_the_documented_shape_and_never_the_same() -> None:
    ids = {new_run_id() for _ in range(100)}
    assert len(ids) == 100
    assert all(RUN_ID.fullmatch(run_id) for run_id in ids)


@given(text=st.text(max_size=40) | st.from_regex(r"run_[0-9a-f]{32}[\s\S]?"))
def test_only_a_run_id_names_a_place(text: str) -> None:
    paths = locate({"HOMEROOM_HOME": "/nowhere"})
    is_id = len(text) == 36 and text.startswith("run_") and set(text[4:]) <= set("0123456789abcdef")
    if is_id:
        assert instance_of(paths, text).root == paths.instances / text
    else:
        with pytest.raises(ValueError, match="not a run id"):
            instance_of(paths, text)


@pytest.mark.usefixtures("open_umask")
def test_everything_in_a_new_room_is_private(paths: Paths, instance: Instance) -> None:
    materialize(instance)
    found = modes(paths.state, paths.temp)
    directories = (instance.home, instance.runtime, instance.tmp, instance.control)
    assert all(path.is_dir() for path in directories)
    assert instance.canary.read_bytes()
    for name, bits in found.items():
        assert bits == (0o700 if Path(name).is_dir() else 0o600), name


def test_backup_programs_are_told_to_leave_rooms_out(paths: Paths, instance: Instance) -> None:
    materialize(instance)
    tag = (paths.instances / "CACHEDIR.TAG").read_bytes()
    assert tag.startswith(b"Signature: 8a477f597d28d172789f06886806bc55")


def test_no_canary_is_like_another(paths: Paths) -> None:
    found = set()
    for _ in range(5):
        instance = instance_of(paths, new_run_id())
        materialize(instance)
        found.add(instance.canary.read_bytes())
    assert len(found) == 5


def test_a_room_that_is_there_is_neither_entered_nor_changed(
    paths: Paths, instance: Instance
) -> None:
    instance.root.mkdir(parents=True, mode=0o700)
    paths.instances.chmod(0o700)
    (instance.root / "file").write_bytes(b"mine")
    with pytest.raises(StateError, match="is there already"):
        materialize(instance)
    assert os.listdir(instance.root) == ["file"]


@pytest.mark.parametrize("place", ["instances", "temp"])
def test_roots_that_are_symlinks_are_refused(paths: Paths, instance: Instance, place: str) -> None:
    target = paths.state.parent / "elsewhere"
    target.mkdir(parents=True)
    root: Path = getattr(paths, place)
    root.parent.mkdir(parents=True, exist_ok=True)
    root.symlink_to(target)
    with pytest.raises(StateError, match="is a symlink"):
        materialize(instance)
    assert os.listdir(target) == []


def test_a_root_of_someone_else_is_refused(
    paths: Paths, instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths.instances.mkdir(parents=True, mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(StateError, match="belongs to uid"):
        materialize(instance)
    assert os.listdir(paths.instances) == []


_FULL = """
import resource, signal, sys
from pathlib import Path
from homeroom.errors import StorageError
from homeroom.home import Instance, materialize
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), 2**40))
try:
    materialize(Instance(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
except StorageError as error:
    assert "cannot make the room" in error.message, error.message
else:
    raise SystemExit("it was made")
"""


@pytest.mark.parametrize("room_for", [0, 40])
def test_a_room_that_could_not_be_finished_is_wiped_all_the_same(
    paths: Paths, instance: Instance, room_for: int
) -> None:
    """As on a full disk: at the very first file, or at the second one's last bytes."""
    paths.instances.mkdir(parents=True, mode=0o700)
    for directory in (paths.state, paths.state.parent):
        directory.chmod(0o700)
    (paths.instances / "CACHEDIR.TAG").touch()
    arguments = [instance.run_id, str(instance.root), str(instance.temp), str(room_for)]
    subprocess.run([sys.executable, "-c", _FULL, *arguments], check=True, timeout=30)
    assert instance.root.is_dir()
    wipe(instance, paths.trash)
    assert not os.path.lexists(instance.root)
    assert not os.path.lexists(instance.temp)


def test_a_wipe_leaves_nothing_and_a_second_one_is_fine(paths: Paths, instance: Instance) -> None:
    materialize(instance)
    (instance.home / "deep").mkdir()
    dig(instance.home / "deep", 3000)
    (instance.home / "closed").mkdir(0o000)
    (instance.tmp / "read-only").mkdir()
    (instance.tmp / "read-only" / "file").touch()
    (instance.tmp / "read-only").chmod(0o500)
    for _ in range(2):
        wipe(instance, paths.trash)
        assert os.listdir(paths.instances) == ["CACHEDIR.TAG"]
        assert os.listdir(paths.temp) == ["trash"]
        assert os.listdir(paths.trash) == os.listdir(paths.temp / "trash") == []


def test_a_wipe_leaves_other_rooms_alone(paths: Paths, instance: Instance) -> None:
    other = instance_of(paths, new_run_id())
    materialize(instance)
    materialize(other)
    before = snapshot(other.root), snapshot(other.temp)
    wipe(instance, paths.trash)
    assert (snapshot(other.root), snapshot(other.temp)) == before


@pytest.mark.parametrize("mark", [None, b"", b"run_" + b"0" * 32 + b"\n", b"x" * 5000])
def test_a_tree_with_no_mark_of_its_own_is_left_alone(
    paths: Paths, instance: Instance, mark: bytes | None
) -> None:
    materialize(instance)
    (instance.root / MARK).unlink()
    if mark is not None:
        (instance.root / MARK).write_bytes(mark)
    before = snapshot(instance.root)
    assert not is_marked(instance)
    with pytest.raises(StateError, match="does not carry homeroom's mark"):
        wipe(instance, paths.trash)
    assert snapshot(instance.root) == before


def test_a_mark_behind_a_symlink_is_none(instance: Instance) -> None:
    materialize(instance)
    os.rename(instance.root / MARK, instance.root / "elsewhere")
    (instance.root / MARK).symlink_to("elsewhere")
    assert not is_marked(instance)


def test_a_symlink_in_place_of_a_room_is_left_alone(paths: Paths, instance: Instance) -> None:
    materialize(instance)
    os.rename(instance.root, paths.state / "elsewhere")
    instance.root.symlink_to(paths.state / "elsewhere")
    before = snapshot(paths.state / "elsewhere")
    with pytest.raises(StateError):
        wipe(instance, paths.trash)
    assert snapshot(paths.state / "elsewhere") == before
    assert instance.root.is_symlink()


def test_a_room_whose_maker_died_before_marking_it_is_wiped(
    paths: Paths, instance: Instance
) -> None:
    for directory in (paths.instances, paths.temp):
        directory.mkdir(parents=True, mode=0o700)
    instance.root.mkdir(0o700)
    instance.temp.mkdir(0o700)
    wipe(instance, paths.trash)
    assert not instance.root.exists()
    assert not instance.temp.exists()


def test_a_short_directory_of_another_run_is_left_alone(paths: Paths) -> None:
    """It is named by 12 digits of 32: two runs may share them."""
    first = instance_of(paths, "run_" + "0" * 32)
    second = instance_of(paths, "run_" + "0" * 31 + "1")
    assert first.temp == second.temp
    materialize(first)
    with pytest.raises(StateError, match="is there already"):
        materialize(second)
    before = snapshot(first.temp)
    wipe(second, paths.trash)
    assert snapshot(first.temp) == before
    assert first.root.is_dir()
    assert not second.root.exists()


def test_a_wipe_that_cannot_use_its_trash_says_so(paths: Paths, instance: Instance) -> None:
    materialize(instance)
    paths.trash.touch()
    with pytest.raises(HomeroomError) as told:
        wipe(instance, paths.trash)
    assert str(paths.trash) in told.value.message
    assert instance.root.is_dir()
