"""A config.toml that somebody else could swap for another is refused, whichever way they took."""

import os
import shlex
import struct
import subprocess
from pathlib import Path

import pytest

from homeroom import config, writers
from homeroom.errors import ConfigError
from homeroom.paths import HOME_VARIABLE, locate
from tests.conftest import PrivateHome
from tests.support.cli import run_homeroom
from tests.support.ownership import FOREIGN, only_root

TEXT = '[files]\nwrite = ["/srv/shared"]\n'


def make(directory: Path, mode: int = 0o755) -> Path:
    directory.mkdir()
    directory.chmod(mode)
    return directory


def configure(directory: Path) -> Path:
    file = make(directory) / "config.toml"
    file.write_text(TEXT)
    file.chmod(0o644)
    return file


@pytest.fixture
def share(tmp_path: Path) -> Path:
    """A directory above a homeroom's."""
    return make(tmp_path / "share")


@pytest.fixture
def file(share: Path) -> Path:
    """A config.toml two levels below it."""
    return configure(make(share / "hr") / "config")


def load(share: Path) -> config.Config:
    return config.load(locate({HOME_VARIABLE: str(share / "hr")}).config_file)


def refusal(share: Path) -> ConfigError:
    with pytest.raises(ConfigError) as told:
        load(share)
    return told.value


def assert_accepted(share: Path) -> None:
    assert load(share).files.write == ("/srv/shared",)


@pytest.mark.parametrize("mode", [0o700, 0o711, 0o750, 0o755, 0o1777, 0o1775])
def test_usual_directories_above_are_accepted(share: Path, file: Path, mode: int) -> None:
    share.chmod(mode)
    assert file.is_file()
    assert_accepted(share)


@pytest.mark.parametrize("mode", [0o777, 0o757, 0o703])
def test_a_directory_above_in_which_everybody_can_rename_is_refused(
    share: Path, file: Path, mode: int
) -> None:
    share.chmod(mode)
    error = refusal(share)
    assert f"{share} can be written by everybody" in error.message
    assert error.hint == f"look at what is in it, then: chmod go-w {share}"
    assert file.is_file()


@only_root
def test_a_directory_of_others_link_to_the_users_own_file_is_refused(
    share: Path, tmp_path: Path
) -> None:
    """What a user keeps elsewhere for another homeroom must not come to count here."""
    configure(tmp_path / "other")
    hr = make(share / "hr")
    (hr / "config").symlink_to(tmp_path / "other")
    assert_accepted(share)
    for foreign in (hr / "config", hr):
        os.chown(foreign, FOREIGN, -1, follow_symlinks=False)
        assert f"{foreign} belongs to uid {FOREIGN}" in refusal(share).message
        os.chown(foreign, 0, -1, follow_symlinks=False)


@only_root
def test_a_whole_homeroom_that_others_linked_is_refused(share: Path, tmp_path: Path) -> None:
    """Even in a directory with the sticky bit, where anybody may be the first."""
    configure(make(tmp_path / "mine") / "config")
    share.chmod(0o1777)
    (share / "hr").symlink_to(tmp_path / "mine")
    assert_accepted(share)
    os.chown(share / "hr", FOREIGN, -1, follow_symlinks=False)
    assert f"{share / 'hr'} belongs to uid {FOREIGN}" in refusal(share).message


@only_root
def test_the_command_that_is_told_is_refused_too(
    private_home: PrivateHome, workspace: Path, share: Path, file: Path
) -> None:
    os.chown(file.parent.parent, FOREIGN, -1)
    home = private_home.with_env(HOMEROOM_HOME=share / "hr")
    done = run_homeroom("dry-run", env=home.env, cwd=workspace)
    assert done.returncode == 78
    assert f"homeroom: error: {share / 'hr'} belongs to uid {FOREIGN}" in done.stderr
    assert "chown" not in done.stderr


def test_what_a_link_leads_through_is_looked_at(share: Path, tmp_path: Path) -> None:
    """Relative ones, ``..``, and those in the middle of a way as well."""
    between = make(tmp_path / "between")
    configure(make(between / "deep") / "real")
    (between / "up").symlink_to("deep/real/..")
    (make(share / "hr") / "config").symlink_to("../../between/./up/real")
    assert_accepted(share)
    between.chmod(0o777)
    assert f"{between} can be written by everybody" in refusal(share).message


def test_a_root_with_a_missing_part_is_read_where_it_was_read_before(
    share: Path, file: Path
) -> None:
    """The kernel finds nothing behind ``missing/..``, which must not mean the defaults."""
    assert file.is_file()
    places = locate({HOME_VARIABLE: f"{share}/missing/../hr"})
    assert config.load(places.config_file).files.write == ("/srv/shared",)


def test_links_in_a_circle_are_named(share: Path, file: Path) -> None:
    other = file.with_name("other.toml")
    file.unlink()
    file.symlink_to("other.toml")
    other.symlink_to(file)
    error = refusal(share)
    assert f"the symlinks lead in a circle: {file} -> {other} -> {file}" in error.message
    assert "replace one of these symlinks" in str(error.hint)


def test_too_many_links_are_no_circle(share: Path, file: Path) -> None:
    target = file.rename(file.with_name("0"))
    for number in range(41):
        target.with_name(str(number + 1)).symlink_to(str(number))
    file.symlink_to("41")
    assert "more than 40 symlinks lead to it" in refusal(share).message
    file.unlink()
    file.symlink_to("39")
    assert_accepted(share)


def test_a_hint_can_be_given_to_a_shell_as_it_is(tmp_path: Path) -> None:
    path = configure(tmp_path / "it's; a way")
    path.chmod(0o666)
    with pytest.raises(ConfigError) as told:
        config.load(path)
    command = str(told.value.hint).partition("then: ")[2]
    assert shlex.split(command) == ["chmod", "go-w", str(path)]


def allow(path: Path, *entries: tuple[int, int, int]) -> None:
    """Set an access control list: tag, rights and number of each (acl(5))."""
    packed = [struct.pack("<HHI", *entry) for entry in sorted(entries)]
    os.setxattr(path, "system.posix_acl_access", struct.pack("<I", 2) + b"".join(packed))


NOBODY = 0xFFFFFFFF
BASE = ((0x01, 6, NOBODY), (0x04, 4, NOBODY), (0x20, 4, NOBODY))


@pytest.mark.host
@pytest.mark.parametrize(("tag", "who"), [(0x02, f"uid {FOREIGN}"), (0x08, f"group {FOREIGN}")])
def test_who_may_write_by_an_access_control_list_is_refused(
    share: Path, file: Path, monkeypatch: pytest.MonkeyPatch, tag: int, who: str
) -> None:
    """Its mode alone looks like that of a file that a group of the user's alone may write."""
    monkeypatch.setattr(writers, "_is_own_group", lambda *_: True)
    for rights, mask, refused in ((6, 6, True), (6, 4, False), (4, 6, False)):
        allow(file, *BASE, (tag, rights, FOREIGN), (0x10, mask, NOBODY))
        assert bool(os.stat(file).st_mode & 0o020) == (mask == 6)
        if refused:
            assert f"{file} can be written by {who}" in refusal(share).message
        else:
            assert_accepted(share)


@pytest.mark.host
def test_a_list_that_lets_only_the_user_write_is_accepted(share: Path, file: Path) -> None:
    """Nor does its mask count as a right of the file's group."""
    allow(file, *BASE, (0x02, 6, os.geteuid()), (0x10, 6, NOBODY))
    assert os.stat(file).st_mode & 0o020
    assert_accepted(share)


def test_a_group_that_is_the_first_one_of_another_account_is_not_the_users_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts = tmp_path / "passwd"
    monkeypatch.setattr(writers, "_ACCOUNTS", str(accounts))
    accounts.write_text("me:x:1000:1000::/:/bin/sh\nyou:x:1001:1001::/:/bin/sh\n\n+::::::\n")
    assert not writers._has_others("me", 1000)
    accounts.write_text("me:x:1000:1000::/:/bin/sh\nyou:x:1001:1000::/:/bin/sh\n")
    assert writers._has_others("me", 1000)


@pytest.fixture
def no_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a user namespace that does not know root: its files show another uid."""
    path = tmp_path / "of-root"
    path.touch()
    os.chown(path, FOREIGN, -1)
    monkeypatch.setattr(writers, "_OF_ROOT", str(path))


@only_root
@pytest.mark.usefixtures("no_root")
def test_where_root_is_unknown_its_directories_are_still_roots(share: Path, file: Path) -> None:
    os.chown(share, FOREIGN, -1)
    assert file.is_file()
    assert_accepted(share)


@only_root
@pytest.mark.usefixtures("no_root")
def test_where_root_is_unknown_nobody_else_passes_for_it(share: Path, file: Path) -> None:
    """In a shared directory what shows that uid may be anybody's."""
    share.chmod(0o1777)
    os.chown(file.parent.parent, FOREIGN, -1)
    assert f"{share / 'hr'} belongs to uid {FOREIGN}" in refusal(share).message


@pytest.mark.host
def test_the_kernel_says_what_root_shows() -> None:
    shown = ["stat", "-c", "%u", writers._OF_ROOT]
    inside = subprocess.run(["unshare", "--user", *shown], capture_output=True, check=True)
    assert inside.stdout == Path(writers._OF_ROOT).read_bytes()
    assert writers._uid_that_root_shows() == 0
