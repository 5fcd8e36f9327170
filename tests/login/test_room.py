"""Logins in real rooms: made there, used there, renewed there."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.login.conftest import KEY, User, grant_text
from tests.support.runs import records
from tests.support.terminal import Terminal
from tests.support.tree import snapshot

REFUSED, USAGE = 76, 2
BACKENDS = "tests.login.backends"


@contextmanager
def logging_in(user: User) -> Iterator[Terminal]:
    """Start the agent's own login and wait until it asks for its code."""
    with Terminal() as terminal:
        argv = user.argv("login", "standin", "--profile", "seat-1")
        terminal.start(argv, env=user.home.env, cwd=user.workspace, size=(200, 30))
        terminal.wait_for("Paste code here >")
        yield terminal


def sandbox_settings(user: User) -> dict[str, Any]:
    """Read what the only living run's sandbox was given."""
    found = [json.loads(path.read_bytes()) for path in user.home.root.rglob("settings.json")]
    (settings,) = (content for content in found if "network" in content)
    return dict(settings)


def vault_file(user: User, profile: str) -> dict[str, object]:
    path = user.state / "vault" / "files" / "standin" / f"{profile}.json"
    content: dict[str, object] = json.loads(path.read_text())
    return content


def access_token(user: User, profile: str) -> str:
    token: str = json.loads(str(vault_file(user, profile)["secret"]))["accessToken"]
    return token


def put(user: User, number: int, profile: str = "default", *, hours: float = 100) -> None:
    """Put a grant into the vault without a trace in the agent's own store."""
    elsewhere = user.home.home / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    (elsewhere / ".credentials.json").write_text(grant_text(number, hours=hours))
    moved = user.with_env(CLAUDE_CONFIG_DIR=elsewhere)
    done = moved.run("login", "standin", "--adopt", "--profile", profile)
    assert done.returncode == 0, done.stderr


def full(user: User, number: int, *, hours: float = 200) -> User:
    """Let rooms hold all of a grant, and the agent renew it to another one."""
    user.configure('run.credentials = "full"')
    return user.with_env(STANDIN_GRANT=grant_text(number, hours=hours))


def shown(output: str) -> dict[str, object]:
    """Read the grant that the agent found in its room."""
    document, _ = json.JSONDecoder().raw_decode(output)
    found: dict[str, object] = document["claudeAiOauth"]
    return found


# --- logging in ----------------------------------------------------------------------------


def test_the_agents_own_login_ends_in_the_vault_and_its_room_is_gone(ready_user: User) -> None:
    user = ready_user.with_env(STANDIN_GRANT=grant_text(3))
    user.log_in_to_the_agent(grant_text(1))
    before = snapshot(user.store.parent)
    with logging_in(user) as terminal:
        (room,) = (user.state / "instances").glob("run_*")
        settings = json.loads((room / "settings.json").read_text())
        terminal.write("good")
        terminal.send("Enter")
        assert terminal.wait_exit() == 0
        screen = terminal.wait_for("logged in to standin, profile seat-1")
    assert "access-3" not in screen
    assert access_token(user, "seat-1") == "sk-ant-oat01-access-3-0123456789"
    assert snapshot(user.store.parent) == before
    assert settings["network"]["allowedDomains"] == [
        "api.standin.test:443",
        "login.standin.test:443",
    ]
    allowed = [entry["path"] for entry in settings["filesystem"]["allowWrite"]]
    assert str(user.workspace) not in allowed
    (of,) = records(user.home.root)
    assert of["state"] == "ended"
    assert "access-3" not in json.dumps(of) + json.dumps(user.index())
    assert not (user.state / "transcripts").exists()


def test_the_users_permissions_are_not_those_of_a_login(ready_user: User) -> None:
    user = ready_user.with_env(SECRET_WORD="hunter2")
    user.configure(
        'network.allow = ["example.org"]\nenvironment.inherit = ["SECRET_WORD"]\n'
        f'files.read = ["{user.workspace}"]\n'
    )
    with logging_in(user) as terminal:
        (room,) = (user.state / "instances").glob("run_*")
        settings = json.loads((room / "settings.json").read_text())
        assert "example.org" not in settings["network"]["allowedDomains"]
        assert str(user.workspace) not in json.dumps(settings["filesystem"]["allowRead"])
        terminal.send("C-c")
        terminal.wait_exit()


@pytest.mark.parametrize("keys", [["wrong", "Enter"], ["C-c"]])
def test_a_login_that_is_not_finished_saves_nothing(ready_user: User, keys: list[str]) -> None:
    user = ready_user.with_env(STANDIN_GRANT=grant_text(3))
    with logging_in(user) as terminal:
        terminal.send(*keys)
        assert terminal.wait_exit() == REFUSED
        terminal.wait_for("nothing was saved")
    assert not (user.state / "vault").exists()
    # Nobody has started a run, and so none is listed.
    assert user.run("list", "--all").stdout == "no runs\n"


def test_the_agents_own_login_needs_a_terminal(user: User) -> None:
    done = user.run("login", "standin")
    assert done.returncode == USAGE
    assert "--api-key or --token, which read standard input" in done.stderr
    assert not user.state.exists()


def test_a_locked_keyring_is_told_before_anybody_logs_in(user: User) -> None:
    user = user.with_env(PYTHON_KEYRING_BACKEND=f"{BACKENDS}.Locked")
    with Terminal() as terminal:
        terminal.start(user.argv("login", "standin"), env=user.home.env, cwd=user.workspace)
        assert terminal.wait_exit() == REFUSED
        terminal.wait_for("the keyring is locked")
    assert not user.state.exists()


# --- using a login -------------------------------------------------------------------------


def test_a_start_takes_the_profile_that_was_named(ready_user: User) -> None:
    user = ready_user
    for name, number in (("default", 1), ("work", 2)):
        put(user, number, name)
    done = user.run("start", "standin", "--profile", "work", "--", "show")
    assert done.returncode == 0, done.stderr
    held = shown(done.stdout)
    assert held["accessToken"] == "sk-ant-oat01-access-2-0123456789"
    # No room holds what renews a grant, unless the user asks for that.
    assert held["refreshToken"] is None
    (of,) = records(user.home.root)
    assert (of["grant"], of["grant_from"]) == (None, None)
    assert "access-2" not in json.dumps(of) + done.stderr


def test_a_variable_goes_before_a_named_profile_and_that_is_said(ready_user: User) -> None:
    user = ready_user.with_env(HOMEROOM_STANDIN_API_KEY=KEY)
    done = user.run("start", "standin", "--profile", "work", "--", "show")
    assert done.stdout.splitlines()[-1] == KEY
    assert "HOMEROOM_STANDIN_API_KEY comes first: profile work is not used" in done.stderr


@pytest.mark.parametrize(("hours", "said"), [(-1, "has expired"), (0.5, "more minutes")])
def test_a_start_tells_how_long_a_login_of_the_vault_works(
    ready_user: User, hours: float, said: str
) -> None:
    put(ready_user, 1, "work", hours=hours)
    done = ready_user.run("start", "standin", "--profile", "work", "--", "show")
    assert said in done.stderr
    assert "homeroom login standin --profile work" in done.stderr


def test_a_login_that_others_can_read_is_warned_of_and_copied_in_private(
    ready_user: User,
) -> None:
    ready_user.log_in_to_the_agent(grant_text(1))
    ready_user.store.chmod(0o644)
    done = ready_user.run("start", "standin", "--", "modes")
    assert f"others can read {ready_user.store} (mode 0644)" in done.stderr
    assert done.stdout.split() == ["600", "700"]
    adopted = ready_user.run("login", "standin", "--adopt")
    assert f"chmod 600 {ready_user.store}" in adopted.stderr


# --- renewing it ---------------------------------------------------------------------------


def test_what_the_agent_renews_goes_back_into_the_vault(ready_user: User) -> None:
    put(ready_user, 1, "work")
    user = full(ready_user, 2)
    done = user.run("start", "standin", "--profile", "work", "--", "renew")
    assert done.returncode == 0, done.stderr
    assert "the new one is in homeroom's vault, profile work" in done.stderr
    assert access_token(user, "work") == "sk-ant-oat01-access-2-0123456789"
    (of,) = records(user.home.root)
    assert of["grant_from"] == "vault/work"
    assert len(of["grant"]) == 8
    assert "refresh-" not in json.dumps(of) + done.stdout + done.stderr


def test_what_the_agent_renews_goes_back_into_its_own_store(ready_user: User) -> None:
    user = full(ready_user, 2)
    user.log_in_to_the_agent(grant_text(1))
    # The stand-in's renewal is of the account that was mirrored into the room.
    done = user.run("start", "standin", "--", "renew")
    assert done.returncode == 0, done.stderr
    assert "the new one is in the agent's own login" in done.stderr
    assert "access-2" in user.store.read_text()
    assert not (user.state / "vault" / "index.json").exists()


def test_a_login_that_is_not_renewed_is_not_spoken_of(ready_user: User) -> None:
    put(ready_user, 1)
    user = full(ready_user, 2)
    done = user.run("start", "standin", "--", "show")
    assert shown(done.stdout)["refreshToken"]
    assert done.stderr == ""


def test_a_login_that_the_agent_lost_is_kept(ready_user: User) -> None:
    put(ready_user, 1)
    user = full(ready_user, 2).with_env(STANDIN_GRANT='{"claudeAiOauth": {"accessToken": ""}}')
    done = user.run("start", "standin", "--", "renew")
    assert done.returncode == 0
    assert "was not touched" in done.stderr
    assert access_token(user, "default") == "sk-ant-oat01-access-1-0123456789"


def test_without_the_whole_grant_nothing_is_taken_back(ready_user: User) -> None:
    put(ready_user, 1)
    user = ready_user.with_env(STANDIN_GRANT=grant_text(2, hours=200))
    done = user.run("start", "standin", "--", "renew")
    assert (done.returncode, done.stderr) == (0, "")
    assert access_token(user, "default") == "sk-ant-oat01-access-1-0123456789"


def test_a_renewal_whose_keyring_is_gone_is_rescued(ready_user: User, tmp_path: Path) -> None:
    folder = tmp_path / "keyring"
    folder.mkdir()
    keyring = ready_user.with_env(PYTHON_KEYRING_BACKEND=f"{BACKENDS}.Folder", TEST_KEYRING=folder)
    put(keyring, 1)
    user = full(keyring, 2)
    with holding(user, "renew-and-hold") as run:
        folder.rename(tmp_path / "gone")
        let_go(user)
        _, said = run.communicate(timeout=30)
    assert run.returncode == REFUSED
    of = next(of for of in records(user.home.root) if of["provider"] == "standin")
    rescued = f"rescued-{of['run_id'][4:12]}"
    assert f"it is kept in homeroom's vault, in a file, as profile {rescued}" in said
    assert access_token(user, rescued) == "sk-ant-oat01-access-2-0123456789"


def test_what_a_killed_run_had_renewed_is_saved_by_the_sweep(ready_user: User) -> None:
    put(ready_user, 1, "work")
    user = full(ready_user, 2)
    with holding(user, "renew-and-hold", "--profile", "work") as run:
        os.kill(run.pid, signal.SIGKILL)
        run.wait(timeout=30)
    for path in (*(user.state / "instances").glob("run_*"), *(user.state / "runs").iterdir()):
        os.utime(path, (0, 0), follow_symlinks=False)
    done = user.run("sweep")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the new one is in homeroom's vault, profile work" in done.stderr
    assert access_token(user, "work") == "sk-ant-oat01-access-2-0123456789"


def test_a_second_room_with_the_same_whole_grant_is_warned_of(ready_user: User) -> None:
    put(ready_user, 1)
    user = full(ready_user, 1)
    with holding(user, "hold") as run:
        (first,) = records(user.home.root)
        same = user.run("start", "standin", "--", "show")
        put(user, 5, "other")
        other = user.run("start", "standin", "--profile", "other", "--", "show")
        user.configure("")
        access = user.run("start", "standin", "--", "show")
        let_go(user)
        run.communicate(timeout=30)
    alone = full(user, 1).run("start", "standin", "--", "show")
    assert f"{first['run_id']} holds the same login in full" in same.stderr
    assert [done.stderr for done in (other, access, alone)] == ["", "", ""]


@contextmanager
def holding(user: User, command: str, *options: str) -> Iterator["subprocess.Popen[str]"]:
    """Start a run and wait until its agent holds it; nothing secret is in any command line."""
    argv = user.argv("start", "standin", *options, "--", command)
    with subprocess.Popen(
        argv,
        env=user.home.env,
        cwd=user.workspace,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        deadline = time.monotonic() + 30
        while not (user.workspace / "held").exists():
            assert run.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes()
            except OSError:
                continue
            assert b"access-" not in words
            assert b"refresh-" not in words
        try:
            yield run
        finally:
            let_go(user)


def let_go(user: User) -> None:
    (user.workspace / "let-go").touch()
