"""The vault in keyrings: a real one, and those that are not well."""

import json
from pathlib import Path

import pytest

from tests.login.conftest import KEY, OTHER_KEY, Desktop, User

REFUSED = 76
BACKENDS = "tests.login.backends"


def log_in(user: User, *more: str, key: str = KEY) -> tuple[int, str]:
    done = user.run("login", "--api-key", "--offline", *more, stdin=key)
    assert key not in done.stdout + done.stderr
    return done.returncode, done.stderr


def at_the_desk(user: User, desktop: Desktop) -> User:
    return user.with_env(DBUS_SESSION_BUS_ADDRESS=desktop.env["DBUS_SESSION_BUS_ADDRESS"])


def in_files(directory: Path, text: str) -> list[Path]:
    return [
        path
        for path in directory.rglob("*")
        if path.is_file() and text.encode() in path.read_bytes()
    ]


def used(user: User, *more: str) -> str | None:
    """Say which source a start would use."""
    shown = user.run("dry-run", "--json", *more)
    assert shown.returncode == 0, shown.stderr
    sources = json.loads(shown.stdout)["credential_sources"]
    return next((row["source"] for row in sources if row["state"] == "used"), None)


def test_a_login_goes_into_the_real_keyring_and_comes_out_again(
    user: User, desktop: Desktop
) -> None:
    user = at_the_desk(user, desktop)
    assert log_in(user) == (0, "")
    assert log_in(user, "--profile", "work", key=OTHER_KEY) == (0, "")
    assert {entry["store"] for entry in user.index()} == {"keyring"}
    assert in_files(user.home.root, KEY) == []
    shown = json.loads(user.run("dry-run", "--json").stdout)["credential"]
    other = json.loads(user.run("dry-run", "--json", "--profile", "work").stdout)["credential"]
    assert [shown["digest"], other["digest"]] == [entry["digest"] for entry in user.index()]
    assert user.run("logout").returncode == 0
    assert used(user) is None
    assert used(user, "--profile", "work") == "profile work (--profile)"
    assert [entry["profile"] for entry in user.index()] == ["work"]


def test_a_locked_keyring_says_so_and_what_to_do(user: User, desktop: Desktop) -> None:
    user = at_the_desk(user, desktop)
    assert log_in(user)[0] == 0
    desktop.lock()
    for command in (["dry-run"], ["logout"], ["login", "--api-key", "--offline"]):
        refused = user.run(*command, stdin=OTHER_KEY)
        assert refused.returncode == REFUSED
        assert "error: the keyring is locked" in refused.stderr
        assert "unlock it in your desktop session" in refused.stderr
    # What is there is known all the same, and it is still there.
    status = user.run("login", "--status")
    assert status.returncode == 0
    assert "in the keyring" in status.stdout


def test_a_keyring_that_is_gone_is_not_the_same_as_no_entry(user: User, desktop: Desktop) -> None:
    assert log_in(at_the_desk(user, desktop))[0] == 0
    refused = user.run("dry-run")
    assert refused.returncode == REFUSED
    assert "no keyring can be reached" in refused.stderr
    assert "run homeroom in your desktop session" in refused.stderr


def test_an_entry_that_somebody_removed_from_the_keyring_is_named(
    user: User, tmp_path: Path
) -> None:
    user = user.with_env(PYTHON_KEYRING_BACKEND=f"{BACKENDS}.Folder", TEST_KEYRING=tmp_path)
    assert log_in(user)[0] == 0
    (tmp_path / "homeroom-claude-default").unlink()
    refused = user.run("dry-run")
    assert refused.returncode == REFUSED
    assert "the login of claude, profile default, in the keyring store is gone" in refused.stderr
    assert user.run("logout").returncode == 0
    assert user.index() == []


@pytest.mark.parametrize(
    ("backend", "reason"),
    [
        ("keyring.backends.null.Keyring", "switched off"),
        ("keyring.backends.fail.Keyring", "no keyring service answers here"),
        (f"{BACKENDS}.Plain", "not a recommended one"),
        ("keyring.backends.chainer.ChainerBackend", "not a recommended one"),
    ],
)
def test_where_there_is_no_real_keyring_a_file_is_used_and_that_is_said_once(
    user: User, backend: str, reason: str
) -> None:
    user = user.with_env(PYTHON_KEYRING_BACKEND=backend)
    status, said = log_in(user)
    assert status == 0
    assert said.count("warning: ") == 1
    assert reason in said
    assert user.index()[0]["store"] == "file"
    assert user.run("dry-run").stderr == ""


@pytest.mark.parametrize("backend", ["null", "fail"])
def test_a_keyring_that_is_demanded_is_not_replaced_by_a_file(user: User, backend: str) -> None:
    user = user.with_env(PYTHON_KEYRING_BACKEND=f"keyring.backends.{backend}.Keyring")
    user.configure('vault.store = "keyring"')
    status, said = log_in(user)
    assert status == REFUSED
    assert 'vault.store is "keyring", but there is none' in said
    assert not user.state.exists()


@pytest.mark.parametrize(
    ("backend", "message"),
    [
        (f"{BACKENDS}.Hanging", "the keyring did not answer within"),
        (f"{BACKENDS}.Locked", "the keyring is locked"),
        (f"{BACKENDS}.Telling", "the keyring failed (RuntimeError)"),
        (f"{BACKENDS}.Missing", "the keyring backend cannot be loaded (AttributeError)"),
        ("nowhere.Missing", "the keyring backend cannot be loaded (ModuleNotFoundError)"),
    ],
)
def test_a_keyring_that_is_not_well_is_named_and_nothing_is_saved(
    user: User, backend: str, message: str
) -> None:
    user = user.with_env(PYTHON_KEYRING_BACKEND=backend, STANDIN_LIMIT="0.5")
    status, said = log_in(user)
    assert status == REFUSED
    assert message in said
    assert 'set vault.store = "file"' in said
    assert in_files(user.home.root, KEY) == []
    assert not (user.state / "vault" / "index.json").exists()


def test_the_keyring_is_left_alone_where_files_are_demanded(user: User) -> None:
    user = user.with_env(PYTHON_KEYRING_BACKEND=f"{BACKENDS}.Hanging")
    user.configure('vault.store = "file"')
    assert log_in(user) == (0, "")


def test_a_login_that_moves_into_the_keyring_leaves_no_copy_in_a_file(
    user: User, tmp_path: Path
) -> None:
    assert log_in(user)[0] == 0
    assert len(in_files(user.home.root, KEY)) == 1
    user = user.with_env(PYTHON_KEYRING_BACKEND=f"{BACKENDS}.Folder", TEST_KEYRING=tmp_path)
    assert log_in(user) == (0, "")
    assert [entry["store"] for entry in user.index()] == ["keyring"]
    assert in_files(user.home.root, KEY) == []


@pytest.mark.parametrize("command", [["dry-run"], ["login", "--status"], ["logout"], ["sweep"]])
def test_no_keyring_is_imported_where_the_vault_has_no_entry(
    user: User, tmp_path: Path, command: list[str]
) -> None:
    report = tmp_path / "modules"
    user = user.with_env(STANDIN_REPORT=report, PYTHON_KEYRING_BACKEND=f"{BACKENDS}.Hanging")
    user.run(*command)
    assert json.loads(report.read_text()) == []


def test_no_keyring_is_imported_for_the_status_of_a_login_in_it(user: User, tmp_path: Path) -> None:
    folder = {"PYTHON_KEYRING_BACKEND": f"{BACKENDS}.Folder", "TEST_KEYRING": str(tmp_path)}
    assert log_in(user.with_env(**folder))[0] == 0
    report = tmp_path / "modules"
    user = user.with_env(STANDIN_REPORT=report, PYTHON_KEYRING_BACKEND=f"{BACKENDS}.Hanging")
    assert user.run("login", "--status").returncode == 0
    assert json.loads(report.read_text()) == []
