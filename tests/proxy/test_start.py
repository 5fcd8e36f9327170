"""Runs behind a company's proxy: the real agents in the real sandbox, and TLS is verified."""

import base64
import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trustme

from homeroom.toolchain.store import Toolchain
from tests.conftest import PrivateHome
from tests.e2e.runner import wait_until
from tests.proxy.conftest import ANSWER, KEYS, LOGIN, SPELLED, VENDORS
from tests.proxy.intercepting import Proxy, intercepting_proxy
from tests.support.cli import homeroom_argv, run_homeroom
from tests.support.model_server import ModelServer, calls_then_says, model_server
from tests.support.runs import Journal, assert_nothing_left, records

CLAUDE = ("start", "claude", "--api-key-env", "CLAUDE_KEY")
CODEX = ("start", "codex", "--api-key-env", "CODEX_KEY")
_BASIC = base64.b64encode(LOGIN.encode()).decode()
BYPASS = "--dangerously-skip-permissions"


# Each agent is told by a variable that it does not know by itself.
@pytest.mark.parametrize(
    ("agent", "words", "variable"),
    [
        pytest.param(CLAUDE, ("-p", "hello"), "CURL_CA_BUNDLE", id="claude"),
        pytest.param(CODEX, ("exec", "hello"), "NODE_EXTRA_CA_CERTS", id="codex"),
    ],
)
def test_an_agent_reaches_its_vendor_through_the_proxy(
    home: PrivateHome,
    workspace: Path,
    proxy: Proxy,
    ca_file: Path,
    agent: tuple[str, ...],
    words: tuple[str, ...],
    variable: str,
) -> None:
    env = home.with_env(HTTPS_PROXY=proxy.url(), **{variable: ca_file}).env
    done = run_homeroom(*agent, "--", *words, env=env, cwd=workspace)
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n"), done.stderr
    assert proxy.tunnels
    assert proxy.hosts() <= set(VENDORS)


def test_the_way_to_the_proxy_may_be_encrypted_by_the_company_as_well(
    home: PrivateHome,
    workspace: Path,
    authority: trustme.CA,
    answers: ModelServer,
    ca_file: Path,
) -> None:
    instead = dict.fromkeys(VENDORS, answers.port)
    with intercepting_proxy(authority, instead, LOGIN, "https") as proxy:
        env = home.with_env(HTTPS_PROXY=proxy.url(SPELLED), SSL_CERT_FILE=ca_file).env
        done = run_homeroom(*CLAUDE, "--", "-p", "hello", env=env, cwd=workspace)
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n"), done.stderr
    assert proxy.tunnels


def start(*words: str, env: dict[str, str], cwd: Path) -> subprocess.Popen[str]:
    """Start a run that the test does not wait for."""
    return subprocess.Popen(
        homeroom_argv(*words),
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_without_the_authority_claude_says_what_is_missing(
    home: PrivateHome, workspace: Path, proxy: Proxy
) -> None:
    env = home.with_env(HTTPS_PROXY=proxy.url(), CLAUDE_CODE_MAX_RETRIES="0").env
    retries = ("--env", "CLAUDE_CODE_MAX_RETRIES")
    done = run_homeroom(*CLAUDE, *retries, "--", "-p", "hello", env=env, cwd=workspace, timeout=110)
    assert done.returncode == 1
    assert "certificate verification failed" in done.stdout
    assert "NODE_EXTRA_CA_CERTS" in done.stdout


def test_without_the_authority_codex_says_what_is_missing(
    home: PrivateHome, workspace: Path, proxy: Proxy
) -> None:
    env = home.with_env(HTTPS_PROXY=proxy.url()).env
    # It tries for ever, so that it is ended as soon as it has said so.
    with start(*CODEX, "--", "exec", "hello", env=env, cwd=workspace) as running:
        assert running.stderr is not None
        said = next((line for line in running.stderr if "WebSocket" in line), "")
        running.terminate()
        running.communicate(timeout=30)
    assert "stage=Tls" in said
    assert running.returncode == 143


# Patterns that do not find themselves: the command is in the room, too. The last one is what
# must be found, or nothing would be.
LOOK = f"""
look() {{
    (env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline) 2>&1 | tr '\\0' '\\n' | grep -c -- "$1"
    grep -rsl -- "$1" "$HOME/.." "$TMPDIR/.." "$PWD" | wc -l
}}
for pattern in "hunter[2]" "{_BASIC[:8]}[{_BASIC[8]}]{_BASIC[9:]}" "run[_]"; do
    echo found $(look "$pattern")
done
env | grep -i prox
cat "$HOME/../settings.json" 2>&1
echo x >>"$SSL_CERT_FILE"
git ls-remote https://git.tunnel.invalid/x
git ls-remote https://git.exempt.invalid/x
echo done
"""


@dataclass(frozen=True)
class Looked:
    """What came of a run: the tool's output, what homeroom told and kept, and the proxy."""

    seen: str
    told: str
    proxy: Proxy


@pytest.fixture(scope="module")
def looked(
    toolchain: Toolchain, authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory
) -> Looked:
    """Do one run through a proxy with a password, in which the agent looks around."""
    place = tmp_path_factory.mktemp("l")
    user, workspace, root = place / "home", place / "home" / "project", place / "r"
    for directory in (user, workspace, root, root / "config"):
        directory.mkdir(mode=0o700)
    authority.cert_pem.write_to_path(str(user / "company.pem"))
    allow = "[network]\nallow = ['*.tunnel.invalid', '*.exempt.invalid']\n"
    (root / "config" / "config.toml").write_text(allow)
    instead = (*VENDORS, "git.tunnel.invalid")
    script = calls_then_says("Bash", {"command": LOOK, "timeout": 30000}, ANSWER)
    with (
        model_server(toolchain, script) as server,
        intercepting_proxy(authority, dict.fromkeys(instead, server.port), LOGIN) as proxy,
    ):
        seen = Journal(server)
        env = {
            "HOME": str(user),
            "HOMEROOM_HOME": str(root),
            "HOMEROOM_TOOLCHAIN": str(toolchain.root),
            "PATH": os.environ["PATH"],
            "https_proxy": proxy.url(SPELLED),
            "NO_PROXY": "elsewhere.invalid .exempt.invalid",
            "NODE_EXTRA_CA_CERTS": str(user / "company.pem"),
            **KEYS,
        }
        done = run_homeroom(*CLAUDE, "--", "-p", "look", BYPASS, env=env, cwd=workspace)
        assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n"), done.stderr
        assert_nothing_left(root)
        told = done.stderr + json.dumps(records(root))
        return Looked(seen.result(), told, proxy)


def test_the_password_of_the_proxy_is_nowhere_in_the_room(looked: Looked) -> None:
    assert looked.proxy.refused == 0
    plain, encoded, control = re.findall(r"^found (\d+) (\d+)$", looked.seen, re.MULTILINE)
    assert plain == encoded == ("0", "0")
    assert "0" not in control
    assert "settings.json: No such file or directory" in looked.seen
    for text in (looked.seen, looked.told):
        assert "hunter2" not in text
        assert str(looked.proxy.port) not in text


def test_programs_in_the_room_trust_the_company_and_cannot_change_whom_they_trust(
    looked: Looked,
) -> None:
    assert "git.tunnel.invalid:443" in looked.proxy.tunnels
    assert "repository 'https://git.tunnel.invalid/x/' not found" in looked.seen
    assert "certificates.pem: Read-only file system" in looked.seen


def test_what_no_proxy_names_goes_its_own_way(looked: Looked) -> None:
    assert looked.proxy.hosts() == {"api.anthropic.com", "git.tunnel.invalid"}
    assert "git.exempt.invalid" in looked.seen


def test_a_login_that_the_proxy_refuses_is_not_told_to_anybody(
    home: PrivateHome, workspace: Path, authority: trustme.CA, ca_file: Path
) -> None:
    with intercepting_proxy(authority, {}, "jo:another") as proxy:
        env = home.with_env(HTTPS_PROXY=proxy.url(SPELLED), NODE_EXTRA_CA_CERTS=ca_file).env
        with start(*CLAUDE, "--", "-p", "hello", env=env, cwd=workspace) as running:
            wait_until(lambda: proxy.refused, 60)
            running.terminate()
            said = "".join(running.communicate(timeout=30))
    assert proxy.tunnels == []
    assert running.returncode == 143
    assert "hunter2" not in said


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
