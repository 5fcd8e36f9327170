"""``homeroom login`` and ``logout`` as users call them."""

import json
import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from tests.login.conftest import KEY, OTHER_KEY, TOKEN, User, grant, grant_text
from tests.login.vendor import Vendor
from tests.support.terminal import Terminal
from tests.support.tree import snapshot

USAGE, TRY_AGAIN, REFUSED = 2, 75, 76


# --- keys and tokens -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("way", "secret", "header"),
    [("--api-key", KEY, f"x-api-key: {KEY}"), ("--token", TOKEN, f"authorization: Bearer {TOKEN}")],
)
def test_a_good_secret_is_saved_after_one_question(
    user: User, vendor: Vendor, way: str, secret: str, header: str
) -> None:
    done = user.at(vendor).run("login", way, stdin=f"  {secret}\n")
    assert done.returncode == 0, done.stderr
    assert vendor.hosts == ["api.anthropic.com"]
    assert len(vendor.requests) == 1
    assert header.lower() in vendor.requests[0].lower()
    assert "logged in to claude, profile default" in done.stdout
    assert secret not in done.stdout + done.stderr
    assert user.index()[0]["kind"] == way.removeprefix("--")


def test_the_rooms_own_variables_lead_to_the_server_too(user: User, vendor: Vendor) -> None:
    user = user.with_env(ALL_PROXY=vendor.url, NODE_EXTRA_CA_CERTS=vendor.certificate)
    assert user.run("login", "--api-key", stdin=KEY).returncode == 0
    assert len(vendor.requests) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_a_secret_that_the_server_refuses_is_not_saved(
    user: User, vendor: Vendor, status: int
) -> None:
    vendor.status = status
    done = user.at(vendor).run("login", "--api-key", stdin=KEY)
    assert done.returncode == REFUSED
    assert f"api.anthropic.com refuses that API key (status {status})" in done.stderr
    assert not user.state.exists()


def test_a_busy_server_knows_whom_it_tells_so(user: User, vendor: Vendor) -> None:
    vendor.status = 429
    assert user.at(vendor).run("login", "--api-key", stdin=KEY).returncode == 0


@pytest.mark.parametrize("status", [404, 500, 503])
def test_an_answer_that_says_nothing_is_told_with_the_way_past_it(
    user: User, vendor: Vendor, status: int
) -> None:
    vendor.status = status
    done = user.at(vendor).run("login", "--api-key", stdin=KEY)
    assert done.returncode == TRY_AGAIN
    assert "--offline" in done.stderr
    assert not user.state.exists()


def test_a_redirect_is_not_followed_with_the_secret(user: User, vendor: Vendor) -> None:
    vendor.status, vendor.headers = 302, "Location: https://elsewhere.test/\r\n"
    done = user.at(vendor).run("login", "--api-key", stdin=KEY)
    assert done.returncode == TRY_AGAIN
    assert vendor.hosts == ["api.anthropic.com"]


def test_a_server_with_another_certificate_gets_no_secret(user: User, vendor: Vendor) -> None:
    done = user.with_env(https_proxy=vendor.url).run("login", "--api-key", stdin=KEY)
    assert done.returncode == TRY_AGAIN
    assert "certificate" in done.stderr
    assert vendor.requests == []


def test_without_a_network_the_way_past_is_named(user: User) -> None:
    done = user.with_env(https_proxy="http://127.0.0.1:9").run("login", "--api-key", stdin=KEY)
    assert done.returncode == TRY_AGAIN
    assert "cannot ask api.anthropic.com" in done.stderr
    assert "--offline" in done.stderr


@pytest.mark.parametrize(
    ("way", "text"),
    [("--api-key", TOKEN), ("--token", KEY), ("--api-key", "hunter2"), ("--api-key", f"{KEY}é")],
)
def test_what_has_another_shape_is_refused_without_a_question(
    user: User, way: str, text: str
) -> None:
    done = user.run("login", way, stdin=text)
    assert done.returncode == REFUSED
    assert "it does not look like one: those begin with sk-ant-" in done.stderr
    assert text not in done.stderr
    assert not user.state.exists()


@pytest.mark.parametrize("text", ["", "\n", f"{KEY}\n{OTHER_KEY}\n", "x" * 70_000])
def test_what_is_not_one_line_is_refused(user: User, text: str) -> None:
    done = user.run("login", "--api-key", "--offline", stdin=text)
    assert done.returncode == USAGE
    assert "not one line with a key or token" in done.stderr


def test_an_agent_without_long_lived_tokens_says_so(user: User) -> None:
    done = user.run("login", "codex", "--token", "--offline", stdin=TOKEN)
    assert done.returncode == REFUSED
    assert "no long-lived tokens" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["--api-key", KEY],
        ["nobody"],
        ["--api-key", "--token"],
        ["--profile", "../x", "--api-key"],
        ["--status", "nobody"],
    ],
)
def test_a_wrong_command_line_saves_nothing(user: User, arguments: list[str]) -> None:
    done = user.run("login", *arguments, stdin=KEY)
    assert done.returncode == USAGE
    assert not user.state.exists()


def test_the_secret_is_in_no_command_line(user: User, vendor: Vendor) -> None:
    """Not even while it is being tried: the server is asked by this process itself."""
    program = subprocess.Popen(
        user.at(vendor).argv("login", "--api-key"),
        env=user.at(vendor).home.env,
        cwd=user.workspace,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with program:
        assert program.stdin
        program.stdin.write(KEY.encode())
        program.stdin.close()
        while program.poll() is None:
            assert KEY not in command_lines()
            time.sleep(0.01)
    assert program.returncode == 0


def command_lines() -> str:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes())
        except OSError:
            continue
    return b"\n".join(found).decode(errors="replace")


# --- the prompt ----------------------------------------------------------------------------


def at_the_prompt(user: User, terminal: Terminal) -> None:
    argv = user.argv("login", "--api-key", "--offline")
    terminal.start(argv, env=user.home.env, cwd=user.workspace)
    terminal.wait_for("API key of claude (it is not shown):")


def test_a_key_that_is_typed_is_not_shown(user: User) -> None:
    with Terminal() as terminal:
        at_the_prompt(user, terminal)
        terminal.write(KEY)
        terminal.send("Enter")
        assert terminal.wait_exit() == 0
        screen = terminal.wait_for("logged in to claude")
    assert not re.search(r"sk-ant|vault-test", screen)
    assert user.index()[0]["profile"] == "default"


@pytest.mark.parametrize(("keys", "status"), [("C-c", 130), ("C-d", USAGE)])
def test_who_gives_up_at_the_prompt_leaves_nothing(user: User, keys: str, status: int) -> None:
    before = snapshot(user.home.home)
    with Terminal() as terminal:
        at_the_prompt(user, terminal)
        terminal.write("sk-ant-api03-half-of")
        terminal.send(*["C-u", keys] if keys == "C-d" else [keys])
        assert terminal.wait_exit() == status
        assert "sk-ant" not in terminal.screen()
    assert not user.home.root.exists()
    assert snapshot(user.home.home) == before


def test_a_kill_at_the_prompt_gives_the_terminal_back(user: User) -> None:
    with Terminal() as terminal:
        at_the_prompt(user, terminal)
        os.kill(terminal.pid(), 15)
        assert terminal.wait_exit() == 143
        terminal.write("seen again")
        terminal.wait_for("seen again")


# --- adopting and removing -----------------------------------------------------------------


def test_adopting_copies_and_leaves_the_store_as_it_is(user: User) -> None:
    user.log_in_to_the_agent(grant_text(1))
    before = snapshot(user.home.home)
    done = user.run("login", "--adopt", "--json")
    assert done.returncode == 0, done.stderr
    assert snapshot(user.home.home) == before
    entry = json.loads(done.stdout)["entry"]
    assert (entry["kind"], entry["store"]) == ("oauth", "file")
    assert "nobody renews" in done.stderr
    text = (user.state / "vault" / "files" / "claude" / "default.json").read_text()
    assert json.loads(json.loads(text)["secret"]) == grant(1) | {
        "expiresAt": json.loads(user.store.read_text())["claudeAiOauth"]["expiresAt"]
    }


def test_there_is_nothing_to_adopt_from_a_stub(user: User) -> None:
    user.log_in_to_the_agent('{"claudeAiOauth": {"accessToken": "", "refreshToken": ""}}')
    done = user.run("login", "--adopt")
    assert done.returncode == REFUSED
    assert str(user.store.parent) in done.stderr
    assert not user.state.exists()


def test_logging_out_forgets_one_login_and_says_that_nothing_is_revoked(user: User) -> None:
    for profile in ("default", "work"):
        user.run("login", "--api-key", "--offline", "--profile", profile, stdin=KEY)
    done = user.run("logout", "--profile", "work")
    assert done.returncode == 0
    assert "at the provider it stays valid" in done.stdout
    assert [entry["profile"] for entry in user.index()] == ["default"]
    again = user.run("logout", "--profile", "work", "--json")
    assert again.returncode == 0
    assert json.loads(again.stdout)["removed"] is False


def test_logging_out_leaves_the_agents_own_login_alone(user: User) -> None:
    user.log_in_to_the_agent(grant_text(1))
    user.run("login", "--adopt")
    before = snapshot(user.store.parent)
    assert user.run("logout").returncode == 0
    assert snapshot(user.store.parent) == before
    assert user.run("login", "--status", "claude").returncode == 0


# --- status --------------------------------------------------------------------------------


def test_the_status_tells_which_credential_a_start_would_use(user: User) -> None:
    assert user.run("login", "--status").returncode == 1
    user.log_in_to_the_agent(grant_text(1, hours=5))
    user.run("login", "--api-key", "--offline", "--profile", "work", stdin=OTHER_KEY)
    done = user.run("login", "--status")
    assert done.returncode == 0
    assert re.search(r"-> store +claude's own login.*: oauth, digest [0-9a-f]{8}", done.stdout)
    assert "access token good for 5 hours" in done.stdout
    assert "claude, profile work: api-key" in done.stdout
    assert "codex: NOT LOGGED IN" in done.stdout
    assert user.run("login", "--status", "codex").returncode == 1
    named = user.run("login", "--status", "--profile", "work", "--json")
    document = json.loads(named.stdout)
    assert document["logged_in"] is True
    tables = {table["provider"]: table["used"] for table in document["providers"]}
    assert tables["claude"] == "profile work (--profile)"


def test_the_status_shows_no_secret(user: User) -> None:
    text = grant_text(7)
    user.log_in_to_the_agent(text)
    user.run("login", "--api-key", "--offline", stdin=KEY)
    user = user.with_env(HOMEROOM_CLAUDE_TOKEN=TOKEN)
    secrets = (KEY, TOKEN, "access-7", "refresh-7")
    for command in (["login", "--status"], ["login", "--status", "--json"], ["dry-run", "--json"]):
        done = user.run(*command)
        assert done.returncode == 0, done.stderr
        assert not [secret for secret in secrets if secret in done.stdout + done.stderr]


def test_a_dry_run_shows_the_same_table(user: User) -> None:
    user.run("login", "--api-key", "--offline", stdin=KEY)
    shown = json.loads(user.run("dry-run", "--json").stdout)["credential_sources"]
    status = json.loads(user.run("login", "--status", "--json", "claude").stdout)
    assert shown == status["providers"][0]["credential_sources"]
    assert [row["state"] for row in shown] == ["absent"] * 5 + ["used", "absent"]
    text = user.run("dry-run").stdout
    assert "-> vault        homeroom's vault, profile default: api-key" in text


@pytest.mark.parametrize("name", ["HOMEROOM_PROFILE", "run.profile"])
def test_a_profile_without_a_login_stops_a_start(user: User, name: str) -> None:
    user.log_in_to_the_agent(grant_text(1))
    if name == "run.profile":
        user.configure('run.profile = "seat-7"')
    else:
        user = user.with_env(HOMEROOM_PROFILE="seat-7")
    done = user.run("dry-run")
    assert done.returncode == REFUSED
    assert f"no login of claude for the profile seat-7 ({name})" in done.stderr
    assert user.run("login", "--status").returncode == 1
