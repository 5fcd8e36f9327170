"""A place in memory is one that really is in memory, and this user's alone; else none is used."""

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from homeroom import memory
from homeroom.errors import StateError
from homeroom.paths import locate
from tests.conftest import PrivateHome
from tests.support.cli import run_homeroom

TMPFS = Path("/dev/shm")


def unset(_: Path) -> tuple[str | None, str]:
    return None, "XDG_RUNTIME_DIR is not set"


def relative(_: Path) -> tuple[str | None, str]:
    return "run/user", "XDG_RUNTIME_DIR is run/user, which is not absolute"


def missing(tmp_path: Path) -> tuple[str | None, str]:
    return f"{tmp_path}/no", f"{tmp_path}/no: No such file or directory"


def a_file(tmp_path: Path) -> tuple[str | None, str]:
    (tmp_path / "run").touch(0o600)
    return f"{tmp_path}/run", "is not a directory"


def a_symlink(tmp_path: Path) -> tuple[str | None, str]:
    (tmp_path / "real").mkdir(0o700)
    (tmp_path / "run").symlink_to("real")
    return f"{tmp_path}/run", "is a symlink"


def open_to_others(tmp_path: Path) -> tuple[str | None, str]:
    (tmp_path / "run").mkdir()
    (tmp_path / "run").chmod(0o750)
    return f"{tmp_path}/run", "is open to other users (mode 0750)"


def a_disk(tmp_path: Path) -> tuple[str | None, str]:
    (tmp_path / "run").mkdir(0o700)
    return f"{tmp_path}/run", "is not in memory: its file system is no tmpfs or ramfs"


CASES: list[Callable[[Path], tuple[str | None, str]]] = [
    *(unset, relative, missing, a_file, a_symlink, open_to_others, a_disk)
]


@pytest.mark.parametrize("arrange", CASES, ids=lambda case: case.__name__)
def test_a_start_is_refused_and_makes_nothing(
    private_home: PrivateHome, tmp_path: Path, arrange: Callable[[Path], tuple[str | None, str]]
) -> None:
    given, reason = arrange(tmp_path)
    config = private_home.root / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[run]\ncredentials_in = "memory"\n')
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    env = private_home.env | ({"XDG_RUNTIME_DIR": given} if given else {})
    done = run_homeroom("start", "--no-credentials", env=env, cwd=workspace)
    assert done.returncode == 73
    assert 'homeroom: error: run.credentials_in is "memory", but ' in done.stderr
    assert reason in done.stderr
    assert "homeroom: hint: set XDG_RUNTIME_DIR to a directory of your own" in done.stderr
    assert 'run.credentials_in to "disk"' in done.stderr
    assert [path.name for path in private_home.root.iterdir()] == ["config"]


@pytest.fixture
def shm() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="homeroom-test-", dir=TMPFS) as name:
        yield Path(name)


def test_a_directory_in_dev_is_refused_since_a_sandbox_has_another(
    private_home: PrivateHome, shm: Path
) -> None:
    env = private_home.env | {"XDG_RUNTIME_DIR": str(shm)}
    with pytest.raises(StateError, match=re.escape(f"{shm} is below /dev")):
        memory.require(locate(env), env)


def test_file_systems_are_told_apart(shm: Path, tmp_path: Path) -> None:
    assert memory.file_system(shm) == 0x01021994
    assert memory.file_system(Path("/proc")) == 0x9FA0
    with pytest.raises(StateError, match="No such file"):
        memory.file_system(tmp_path / "missing")


def test_another_owners_directory_is_refused(
    private_home: PrivateHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").mkdir(0o700)
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(tmp_path).st_uid + 1)
    env = private_home.env | {"XDG_RUNTIME_DIR": str(tmp_path / "run")}
    with pytest.raises(StateError, match="belongs to uid"):
        memory.require(locate(env), env)


def test_a_system_without_such_directories_is_refused(
    private_home: PrivateHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(StateError, match="only on Linux"):
        memory.require(locate(private_home.env), private_home.env)


def test_a_place_is_remembered_and_each_homeroom_has_its_own(
    private_home: PrivateHome, tmp_path: Path
) -> None:
    (tmp_path / "run").mkdir(0o700)
    env = private_home.env | {"XDG_RUNTIME_DIR": str(tmp_path / "run")}
    paths = locate(env)
    assert paths.memory is not None
    memory.remember(paths, paths.memory)
    bare = locate(private_home.env)
    assert bare.memory is None
    assert memory.known(bare) == [paths.memory]
    # It counts as soon as it is there, and only while it is this user's alone.
    assert memory.places(bare) == ()
    paths.memory.mkdir(0o700)
    assert memory.places(bare) == (paths.memory,)
    paths.memory.chmod(0o755)
    assert memory.places(bare) == ()
    assert "open to other users" in memory.unusable(bare)[0]
    other = locate(env | {"HOMEROOM_HOME": str(tmp_path / "other")})
    assert other.memory != paths.memory
    assert memory.known(other) == [other.memory]


def test_notes_that_are_damaged_are_passed_over(private_home: PrivateHome) -> None:
    paths = locate(private_home.env)
    paths.places.mkdir(parents=True)
    (paths.places / "relative").write_text("some/where")
    (paths.places / "empty").touch()
    (paths.places / "loop").symlink_to("loop")
    assert memory.known(paths) == []
