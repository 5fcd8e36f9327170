"""Runs behind a company's proxy: the real agents in the real sandbox, and TLS is verified."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import trustme

from homeroom.toolchain.store import Toolchain
from tests.conftest import PrivateHome
from tests.proxy.conftest import ANSWER, LOGIN, SPELLED, VENDORS
from tests.proxy.intercepting import Proxy, intercepting_proxy
from tests.support.cli import homeroom_argv, run_homeroom
from tests.support.model_server import calls_then_says, model_server
from tests.support.runs import Journal, records

CLAUDE = ("start", "claude", "--api-key-env", "CLAUDE_KEY")
CODEX = ("start", "codex", "--api-key-env", "CODEX_KEY")
HELLO = {CLAUDE: ("-p", "hello"), CODEX: ("exec", "hello")}
AGENTS = [pytest.param(CLAUDE, id="claude"), pytest.param(CODEX, id="codex")]
BYPASS = "--dangerously-skip-permissions"


@pytest.mark.parametrize("variable", ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"])
@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_reaches_its_vendor_through_the_proxy(
    home: PrivateHome,
    workspace: Path,
    proxy: Proxy,
    ca_file: Path,
    agent: tuple[str, ...],
    variable: str,
) -> None:
    env = home.with_env(HTTPS_PROXY=proxy.url(), **{variable: ca_file}).env
    done = run_homeroom(*agent, "--", *HELLO[agent], env=env, cwd=workspace)
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n"), done.stderr
    assert proxy.hosts() <= set(VENDORS)
    assert proxy.tunnels


def test_without_the_authority_claude_says_what_is_missing(
    home: PrivateHome, workspace: Path, proxy: Proxy
) -> None:
    env = home.with_env(HTTPS_PROXY=proxy.url(), CLAUDE_CODE_MAX_RETRIES="0").env
    retries = ("--env", "CLAUDE_CODE_MAX_RETRIES")
    done = run_homeroom(*CLAUDE, *retries, "--", "-p", "hello", env=env, cwd=workspace)
    assert done.returncode == 1
    assert "certificate verification failed" in done.stdout
    assert "NODE_EXTRA_CA_CERTS" in done.stdout


def test_without_the_authority_codex_says_what_is_missing(
    home: PrivateHome, workspace: Path, proxy: Proxy
) -> None:
    env = home.with_env(HTTPS_PROXY=proxy.url()).env
    # It tries for ever, so that it is ended as soon as it has said so.
    with subprocess.Popen(
        homeroom_argv(*CODEX, "--", "exec", "hello"),
        env=env,
        cwd=workspace,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stderr is not None
        said = next((line for line in running.stderr if "UnknownIssuer" in line), "")
        running.terminate()
        running.communicate(timeout=30)
    assert "invalid peer certificate" in said
    assert running.returncode == 143


LOOK = f"""
env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\0' '\\n'
cat "$HOME/../settings.json" "$HOME"/../runtime/* 2>&1
grep -rs "" "$HOME" "$TMPDIR" "$TMPDIR/../c"
ls -l "$SSL_CERT_FILE"; echo x >"$SSL_CERT_FILE"
git ls-remote https://git.tunnel.invalid/x; git ls-remote https://git.exempt.invalid/x
echo done
"""


@pytest.fixture
def looked(
    home: PrivateHome, workspace: Path, toolchain: Toolchain, ca_file: Path, authority: trustme.CA
) -> dict[str, Any]:
    """One run through a proxy with a password, in which the agent looks everywhere for it."""
    config = home.root / "config" / "config.toml"
    config.parent.mkdir(parents=True, mode=0o700)
    config.write_text("[network]\nallow = ['*.tunnel.invalid', '*.exempt.invalid']\n")
    script = calls_then_says("Bash", {"command": LOOK, "timeout": 30000}, ANSWER)
    with (
        model_server(toolchain, script) as server,
        intercepting_proxy(
            authority, dict.fromkeys((*VENDORS, "git.tunnel.invalid"), server.port), LOGIN
        ) as proxy,
    ):
        seen = Journal(server)
        env = home.with_env(
            https_proxy=proxy.url(SPELLED),
            NO_PROXY="elsewhere.invalid .exempt.invalid",
            NODE_EXTRA_CA_CERTS=ca_file,
        ).env
        done = run_homeroom(*CLAUDE, "--", "-p", "look", BYPASS, env=env, cwd=workspace)
        assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n"), done.stderr
        return {"seen": seen.result(), "proxy": proxy, "told": done.stderr}


def test_the_password_of_the_proxy_is_nowhere_in_the_room(
    looked: dict[str, Any], home: PrivateHome
) -> None:
    seen, proxy = looked["seen"], looked["proxy"]
    assert proxy.refused == 0
    assert "done" in seen, "the command did not come to its end"
    assert "HTTPS_PROXY=http" in seen, "the environment was not seen"
    assert "bwrap" in seen, "no command line was seen"
    assert "settings.json: No such file" in seen, "the settings were there to be read"
    for text in (seen, looked["told"], json.dumps(records(home.root))):
        assert "hunter2" not in text
        assert str(proxy.port) not in text
    # Git trusts the company in there as well; the file itself cannot be changed.
    assert "git.tunnel.invalid:443" in proxy.tunnels
    assert "certificate" not in seen.lower().partition("git.tunnel.invalid")[2]
    assert "Read-only file system" in seen
    # What NO_PROXY names goes its own way.
    assert proxy.hosts() == {"api.anthropic.com", "git.tunnel.invalid"}


def test_a_wrong_password_is_told_by_the_agent(
    home: PrivateHome, workspace: Path, authority: trustme.CA, ca_file: Path
) -> None:
    with intercepting_proxy(authority, {}, "jo:another") as proxy:
        env = home.with_env(
            HTTPS_PROXY=proxy.url(SPELLED),
            NODE_EXTRA_CA_CERTS=ca_file,
            CLAUDE_CODE_MAX_RETRIES="0",
        ).env
        retries = ("--env", "CLAUDE_CODE_MAX_RETRIES")
        done = run_homeroom(*CLAUDE, *retries, "--", "-p", "hello", env=env, cwd=workspace)
        assert proxy.refused > 0
    assert done.returncode == 1
    assert "Unable to connect" in done.stdout
    assert "hunter2" not in done.stdout + done.stderr


def test_a_demo_has_no_use_for_a_proxy(home: PrivateHome, workspace: Path) -> None:
    env = home.with_env(HTTPS_PROXY="http://127.0.0.1:9", SSL_CERT_FILE="/nowhere").env
    done = run_homeroom("start", "--demo", "--", "-p", "hello", env=env, cwd=workspace)
    assert (done.returncode, done.stdout.count("\n")) == (0, 1), done.stderr


def dry_run(home: PrivateHome, workspace: Path, *options: str) -> tuple[dict[str, Any], str]:
    done = run_homeroom("dry-run", "--json", *options, env=home.env, cwd=workspace)
    assert done.returncode == 0, done.stderr
    plain = run_homeroom("dry-run", *options, env=home.env, cwd=workspace)
    return json.loads(done.stdout), done.stdout + plain.stdout


def test_a_dry_run_shows_the_proxy_and_masks_its_login(
    home: PrivateHome, workspace: Path, ca_file: Path
) -> None:
    there = home.with_env(
        HTTPS_PROXY=f"http://{SPELLED}@proxy.example:3128",
        no_proxy="a.example,b.example",
        SSL_CERT_FILE=ca_file,
    )
    plan, shown = dry_run(there, workspace)
    assert plan["settings"]["network"]["parentProxy"] == {
        "https": "http://********@proxy.example:3128",
        "noProxy": "a.example,b.example",
    }
    assert plan["certificates"] == {"count": 1, "sources": [f"SSL_CERT_FILE={ca_file}"]}
    inside = plan["environment"]["SSL_CERT_FILE"]
    assert inside.endswith("/runtime/certificates.pem")
    assert plan["environment"]["NODE_EXTRA_CA_CERTS"] == inside
    assert not [name for name in plan["environment"] if name.lower().endswith("proxy")]
    assert "hunter2" not in shown
    assert "jo:" not in shown


def test_a_dry_run_without_either_says_nothing_of_them(home: PrivateHome, workspace: Path) -> None:
    plan, shown = dry_run(home, workspace)
    assert "parentProxy" not in shown
    assert plan["certificates"] is None
    assert not [name for name in plan["environment"] if "CERT" in name]


@pytest.mark.parametrize(
    ("variable", "value", "page"),
    [
        ("HTTPS_PROXY", "socks5://jo:hunter2@proxy.example", "behind-a-proxy.md"),
        ("NODE_EXTRA_CA_CERTS", "/nowhere/hunter2.pem", "corporate-certificates.md"),
    ],
)
def test_what_cannot_be_used_is_refused_and_explained(
    home: PrivateHome, workspace: Path, variable: str, value: str, page: str
) -> None:
    env = home.with_env(**{variable: value}).env
    done = run_homeroom(*CLAUDE, "--", "-p", "hello", env=env, cwd=workspace)
    assert (done.returncode, done.stdout) == (78, "")
    assert variable in done.stderr
    assert f"docs/how-to/{page}" in done.stderr
    assert variable != "HTTPS_PROXY" or "hunter2" not in done.stderr


