"""Files and directories, private from the moment they exist."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeroom.errors import StateError, StorageError
from homeroom.files import (
    check_private_dir,
    create_private,
    ensure_private_dir,
    explain,
    read_regular,
    replace_private,
)
from tests.core.kinds import NOT_A_FILE


def mode(path: Path) -> int:
    return stat.S_IMODE(os.lstat(path).st_mode)


@pytest.mark.usefixtures("open_umask")
def test_every_directory_that_is_made_on_the_way_is_private(tmp_path: Path) -> None:
    ensure_private_dir(tmp_path / "a/b/c/d")
    assert [mode(tmp_path / part) for part in ("a", "a/b", "a/b/c", "a/b/c/d")] == [0o700] * 4


@pytest.mark.usefixtures("open_umask")
def test_a_parent_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(0o755)
    ensure_private_dir(tmp_path / "open/own")
    assert mode(tmp_path / "open") == 0o755
    assert mode(tmp_path / "open/own") == 0o700


def test_a_second_call_accepts_what_the_first_one_made(tmp_path: Path) -> None:
    ensure_private_dir(tmp_path / "a/b")
    ensure_private_dir(tmp_path / "a/b")
    check_private_dir(tmp_path / "a/b")


def test_a_parent_that_is_a_symlink_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    ensure_private_dir(tmp_path / "link/own")
    assert mode(tmp_path / "real/own") == 0o700


@pytest.mark.parametrize("bits", [0o711, 0o750, 0o755, 0o777, 0o1777])
def test_a_directory_open_to_others_is_refused_with_its_cure(tmp_path: Path, bits: int) -> None:
    place = tmp_path / "place"
    place.mkdir()
    place.chmod(bits)
    with pytest.raises(StateError, match="open to other users") as told:
        ensure_private_dir(place)
    assert told.value.hint == f"chmod 700 {place}"
    assert mode(place) == bits


def test_a_symlink_in_place_of_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(0o700)
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(StateError, match="is a symlink"):
        ensure_private_dir(tmp_path / "link")


def test_a_file_in_place_of_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"mine")
    with pytest.raises(StateError, match="is not a directory"):
        ensure_private_dir(tmp_path / "file")
    with pytest.raises(StorageError, match="Not a directory"):
        ensure_private_dir(tmp_path / "file/below")
    assert (tmp_path / "file").read_bytes() == b"mine"


def test_a_directory_of_someone_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "place").mkdir(0o700)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(StateError, match=f"belongs to uid {os.getuid()}, not to you"):
        ensure_private_dir(tmp_path / "place")


@pytest.mark.usefixtures("open_umask")
@pytest.mark.parametrize("write", [create_private, replace_private])
def test_a_new_file_was_never_open_to_anyone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: object
) -> None:
    made: list[tuple[int, int]] = []
    real_open = os.open

    def traced(path: str | Path, flags: int, bits: int = 0o777, **more: int) -> int:
        descriptor = real_open(path, flags, bits, **more)
        if flags & os.O_CREAT:
            made.append((flags & os.O_EXCL, stat.S_IMODE(os.fstat(descriptor).st_mode)))
        return descriptor

    monkeypatch.setattr(os, "open", traced)
    monkeypatch.setattr(os, "chmod", lambda *_: pytest.fail("its mode was changed later"))
    assert callable(write)
    write(tmp_path / "secret", b"content")
    assert made == [(os.O_EXCL, 0o600)]
    assert mode(tmp_path / "secret") == 0o600
    assert (tmp_path / "secret").read_bytes() == b"content"


def test_creating_touches_nothing_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "dangling").symlink_to("nowhere")
    for name in ("target", "link", "dangling"):
        with pytest.raises(FileExistsError):
            create_private(tmp_path / name, b"new")
    assert (tmp_path / "target").read_bytes() == b"old"
    assert not (tmp_path / "nowhere").exists()


def test_replacing_a_symlink_leaves_its_target_alone(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")
    replace_private(tmp_path / "link", b"new")
    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "link").read_bytes() == b"new"
    assert (tmp_path / "target").read_bytes() == b"old"


def test_a_file_that_is_being_replaced_is_always_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_private(path, b"a" * 100_000)
    opened = os.open(path, os.O_RDONLY)
    try:
        replace_private(path, b"b" * 100_000)
        assert os.read(opened, 200_000) == b"a" * 100_000
    finally:
        os.close(opened)
    assert path.read_bytes() == b"b" * 100_000


def test_what_cannot_be_replaced_leaves_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(IsADirectoryError):
        replace_private(tmp_path / "file", b"new")
    assert os.listdir(tmp_path) == ["file"]


_FULL = """
import errno, resource, signal, sys
from pathlib import Path
from homeroom.files import create_private, replace_private
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
for write in (create_private, replace_private):
    try:
        write(Path(sys.argv[1]) / write.__name__, b"x" * 100_000)
    except OSError as error:
        assert error.errno == errno.EFBIG, error
    else:
        raise SystemExit("it was written")
"""


def test_a_write_that_fails_half_way_leaves_nothing_and_keeps_the_old(tmp_path: Path) -> None:
    (tmp_path / "replace_private").write_bytes(b"old")
    subprocess.run([sys.executable, "-c", _FULL, str(tmp_path)], check=True, timeout=30)
    assert os.listdir(tmp_path) == ["replace_private"]
    assert (tmp_path / "replace_private").read_bytes() == b"old"


@given(content=st.binary(max_size=2000), spare=st.integers(0, 3))
def test_what_fits_the_limit_is_read_as_it_is(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, spare: int
) -> None:
    path = tmp_path_factory.mktemp("f") / "file"
    path.write_bytes(content)
    assert read_regular(path, len(content) + spare) == content
    if content:
        with pytest.raises(StorageError, match="larger than"):
            read_regular(path, len(content) - 1)


@pytest.mark.parametrize("follow", [True, False])
@pytest.mark.parametrize("kind", NOT_A_FILE)
def test_what_is_no_file_is_named_and_never_waited_for(
    tmp_path: Path, kind: str, follow: bool
) -> None:
    path = tmp_path / "d" / "entry"
    path.parent.mkdir()
    NOT_A_FILE[kind](path)
    with pytest.raises(StorageError) as told:
        read_regular(path, 100, follow=follow)
    assert str(path) in str(told.value)


def test_a_symlink_to_a_file_is_read_only_where_it_may_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    assert read_regular(tmp_path / "link", 100, follow=True) == b"content"
    with pytest.raises(StorageError, match="is a symlink"):
        read_regular(tmp_path / "link", 100)


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "nothing", 100)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_what_may_not_be_written_is_a_matter_of_state(number: int) -> None:
    error = explain(OSError(number, os.strerror(number)), "/some/where", "write")
    assert isinstance(error, StateError)
    assert error.message == f"cannot write /some/where: {os.strerror(number)}"
    assert "HOMEROOM_HOME" in (error.hint or "")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_a_matter_of_storage(number: int) -> None:
    error = explain(OSError(number, os.strerror(number)), "/some/where", "write")
    assert isinstance(error, StorageError)
    assert "free some space" in (error.hint or "")


def test_any_other_failure_names_the_file_and_the_cause() -> None:
    error = explain(OSError(errno.EIO, os.strerror(errno.EIO)), "/some/where", "write")
    assert isinstance(error, StorageError)
    assert error.message == f"cannot write /some/where: {os.strerror(errno.EIO)}"
