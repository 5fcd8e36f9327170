"""A config.toml that somebody else could have written is refused; the user's own links are not."""

import grp
import os
import pwd
from pathlib import Path

import pytest

from homeroom import config
from homeroom.errors import ConfigError
from tests.conftest import PrivateHome
from tests.support.cli import run_homeroom
from tests.support.ownership import FOREIGN, only_root

TEXT = '[files]\nwrite = ["/srv/shared"]\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    directory = tmp_path / "config"
    directory.mkdir(0o755)
    directory.chmod(0o755)
    path = directory / "config.toml"
    path.write_text(TEXT)
    path.chmod(0o644)
    return path


def refusal(path: Path) -> ConfigError:
    with pytest.raises(ConfigError) as told:
        config.load(path)
    return told.value


def assert_accepted(path: Path) -> None:
    assert config.load(path).files.write == ("/srv/shared",)


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o644, 0o444])
def test_what_others_can_only_read_is_accepted(file: Path, mode: int) -> None:
    file.chmod(mode)
    assert_accepted(file)


@pytest.mark.parametrize("mode", [0o666, 0o646, 0o602])
@pytest.mark.parametrize("which", ["file", "directory"])
def test_what_everybody_can_write_is_refused_with_the_command_that_mends_it(
    file: Path, mode: int, which: str
) -> None:
    open_one = file if which == "file" else file.parent
    open_one.chmod(mode | (0o111 if which == "directory" else 0))
    error = refusal(file)
    assert f"{open_one} can be written by everybody (mode 0" in error.message
    assert error.hint == f"look at what is in it, then: chmod go-w {open_one}"
    open_one.chmod(os.stat(open_one).st_mode & ~0o022)
    assert_accepted(file)


@only_root
@pytest.mark.parametrize("which", ["file", "directory"])
def test_what_another_group_can_write_is_refused(file: Path, which: str) -> None:
    open_one = file if which == "file" else file.parent
    os.chown(open_one, -1, FOREIGN)
    open_one.chmod(0o775)
    assert f"{open_one} can be written by the group {FOREIGN}" in refusal(file).message


def test_a_group_of_the_users_alone_may_write_it(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with umask 002, the default of several distributions."""
    me, status = pwd.getpwuid(os.geteuid()), os.stat(file)
    own = pwd.struct_passwd((me.pw_name, "x", me.pw_uid, status.st_gid, "", "/", "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: own)

    def with_group(name: str, members: list[str]) -> None:
        group = grp.struct_group((name, "x", status.st_gid, members))
        monkeypatch.setattr(grp, "getgrgid", lambda _: group)

    file.chmod(0o664)
    with_group(me.pw_name, [])
    assert_accepted(file)
    with_group(me.pw_name, [me.pw_name])
    assert_accepted(file)
    with_group(me.pw_name, [me.pw_name, "somebody"])
    assert "can be written by the group" in refusal(file).message
    with_group("users", [])
    assert "can be written by the group" in refusal(file).message


@only_root
@pytest.mark.parametrize("which", ["file", "directory"])
def test_what_belongs_to_another_user_is_refused(file: Path, which: str) -> None:
    foreign = file if which == "file" else file.parent
    os.chown(foreign, FOREIGN, -1)
    error = refusal(file)
    assert f"{foreign} belongs to uid {FOREIGN}, not to you (uid 0)" in error.message
    # Never for a directory: it holds more than this file.
    assert (f"chown 0 {foreign}" in str(error.hint)) == (which == "file")


def linked(file: Path, directory: Path) -> Path:
    """Move the file away, and leave a link to it through another one, as managers do."""
    directory.mkdir(0o755)
    directory.chmod(0o755)
    target = directory / "homeroom.toml"
    file.rename(target)
    between = directory / "generation"
    between.symlink_to("homeroom.toml")
    file.symlink_to(between)
    return target


def test_a_link_to_a_file_of_the_users_is_accepted(file: Path, tmp_path: Path) -> None:
    linked(file, tmp_path / "dotfiles")
    assert_accepted(file)


def test_a_link_into_a_store_is_accepted(file: Path, tmp_path: Path) -> None:
    """/nix/store is open to the group of its builders, and sticky; what is in it is read-only."""
    linked(file, tmp_path / "store").chmod(0o444)
    (tmp_path / "store").chmod(0o1777)
    assert_accepted(file)


def test_a_link_to_what_everybody_can_write_is_refused(file: Path, tmp_path: Path) -> None:
    target = linked(file, tmp_path / "dotfiles")
    target.chmod(0o666)
    assert f"{target} can be written by everybody" in refusal(file).message
    target.chmod(0o644)
    target.parent.chmod(0o777)
    assert f"{target.parent} can be written by everybody" in refusal(file).message


@only_root
def test_a_link_that_another_user_made_is_refused(file: Path, tmp_path: Path) -> None:
    linked(file, tmp_path / "dotfiles")
    os.chown(file, FOREIGN, -1, follow_symlinks=False)
    assert f"{file} belongs to uid {FOREIGN}" in refusal(file).message


@only_root
def test_a_link_to_another_users_file_is_refused(file: Path, tmp_path: Path) -> None:
    target = linked(file, tmp_path / "dotfiles")
    os.chown(target, FOREIGN, -1)
    assert f"{target} belongs to uid {FOREIGN}" in refusal(file).message


@pytest.mark.parametrize("command", [("start", "--", "-p", "hi"), ("dry-run",), ("login",)])
def test_no_command_obeys_a_file_that_everybody_can_write(
    private_home: PrivateHome, workspace: Path, command: tuple[str, ...]
) -> None:
    path = private_home.root / "config" / "config.toml"
    path.parent.mkdir(mode=0o700, parents=True)
    path.write_text(TEXT)
    path.chmod(0o666)
    done = run_homeroom(*command, env=private_home.env, cwd=workspace)
    assert done.returncode == 78
    assert f"homeroom: error: {path} can be written by everybody (mode 0666)" in done.stderr
    assert f"homeroom: hint: look at what is in it, then: chmod go-w {path}" in done.stderr
    done = run_homeroom("check", "--only", "state", env=private_home.env, cwd=workspace)
    assert f"{path} can be written by everybody" in done.stdout
