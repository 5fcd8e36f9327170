"""The user's own stores are the same after a run, to the last byte, mode and nanosecond."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from homeroom.toolchain.store import Toolchain
from tests.conftest import PrivateHome
from tests.e2e.runner import Runner
from tests.e2e.session import ANSWER, PROMPT, Session
from tests.support.model_server import calls_then_says, model_server
from tests.support.runs import Journal
from tests.support.tree import changes, snapshot

BYPASS = "--dangerously-skip-permissions"
GRANT = {
    "accessToken": "sk-ant-oat01-an-access-token",
    "refreshToken": "sk-ant-ort01-a-refresh-token",
    "expiresAt": 4102444800000,
    "scopes": ["user:inference", "user:profile"],
    "subscriptionType": "max",
}
STATE = {
    "numStartups": 41,
    "hasCompletedOnboarding": True,
    "oauthAccount": {"emailAddress": "user@example.invalid", "accountUuid": "0-0"},
    "projects": {"/elsewhere": {"hasTrustDialogAccepted": True, "allowedTools": []}},
    "mcpServers": {"mine": {"command": "false"}},
}
SESSION = {"type": "user", "message": {"role": "user", "content": "mine"}}
FILES = {
    ".claude.json": STATE,
    ".claude/.credentials.json": {"claudeAiOauth": GRANT},
    ".claude/settings.json": {"model": "opus", "cleanupPeriodDays": 1},
    ".claude/settings.local.json": {},
    ".claude/projects/-elsewhere/0b1c.jsonl": SESSION,
    ".claude/history.jsonl": SESSION,
    ".claude/sessions/7.json": {"pid": 7},
    ".claude/todos/a.json": [],
    ".claude/plugins/config.json": {},
    ".codex/auth.json": {"auth_mode": "apikey", "OPENAI_API_KEY": "sk-mine"},
    ".codex/sessions/2020/01/01/rollout.jsonl": SESSION,
}
TEXTS = {
    ".claude/CLAUDE.md": "# mine\n",
    ".claude/commands/mine.md": "mine\n",
    ".claude/agents/mine.md": "mine\n",
    ".claude/skills/mine/SKILL.md": "mine\n",
    ".codex/config.toml": 'model = "mine"\n',
    ".gitconfig": "[user]\n\tname = Mine\n\temail = user@example.invalid\n",
    ".ssh/id_ed25519": "a private key\n",
    ".bashrc": "# mine\n",
    ".npmrc": "# mine\n",
    ".cache/mine": "mine\n",
    ".config/mine": "mine\n",
    ".local/share/mine": "mine\n",
}


@pytest.fixture
def master(private_home: PrivateHome, workspace: Path) -> Iterator[Path]:
    """A home as its user has left it long ago, and as it must be at the end."""
    home = private_home.home
    for name, content in {**FILES, **TEXTS}.items():
        path = home / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
        path.chmod(0o600 if "credentials" in name or "auth" in name else 0o644)
    (home / ".claude" / "projects").chmod(0o750)
    (home / ".claude" / "linked.md").symlink_to("CLAUDE.md")
    (home / ".claude" / "dangling").symlink_to("nowhere")
    for path in [*home.rglob("*"), home]:
        os.utime(path, ns=(10**18, 10**18), follow_symlinks=False)
    before = snapshot(home)
    assert len(before) > len(FILES) + len(TEXTS)
    assert workspace.is_relative_to(home)
    yield home
    assert changes(before, snapshot(home)) == []


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A place to work that is not in the home, since a workspace may change."""
    directory = tmp_path / "elsewhere"
    directory.mkdir()
    return directory


MEDDLE = (
    "echo x >> ~/.claude.json; git config --global user.name Other; mkdir -p ~/.ssh;"
    " echo x > ~/.ssh/id_ed25519; rm -rf ~/.codex; echo done"
)


@pytest.mark.usefixtures("master")
def test_after_a_piped_run(runner: Runner, journal: Journal, elsewhere: Path) -> None:
    done = runner.start(journal, "-p", "hi", cwd=elsewhere, stdin="piped")
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n")


def test_after_an_agent_that_changes_its_own_home(
    master: Path, runner: Runner, toolchain: Toolchain, elsewhere: Path
) -> None:
    call = {"command": f'{MEDDLE}; cd "{master}" && echo x > .bashrc; mkdir -p .claude/x'}
    with model_server(toolchain, calls_then_says("Bash", call, ANSWER)) as server:
        done = runner.start(server, "-p", "hi", BYPASS, cwd=elsewhere)
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n")


@pytest.mark.usefixtures("master")
def test_after_a_run_with_the_users_own_login(
    runner: Runner, journal: Journal, elsewhere: Path
) -> None:
    config = runner.home.root / "config" / "config.toml"
    config.parent.mkdir(mode=0o700, parents=True)
    config.write_text(f'[network]\nallow = ["127.0.0.1:{journal.server.port}"]\n')
    given = {"ANTHROPIC_BASE_URL": journal.url, "NO_PROXY": "none", "no_proxy": "none"}
    done = runner.start_plain(
        *("-p", "hi"),
        options=[word for name in given for word in ("--env", name)],
        env=runner.home.env | given,
        cwd=elsewhere,
    )
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n"), done.stderr
    assert len(journal.requests()) == 1


@pytest.mark.usefixtures("master")
def test_after_a_run_that_fails(runner: Runner, journal: Journal, elsewhere: Path) -> None:
    done = runner.start(journal, "--no-such-option", cwd=elsewhere)
    assert done.returncode == 1


@pytest.mark.usefixtures("master")
def test_after_an_interactive_run(session: Session, journal: Journal, elsewhere: Path) -> None:
    session.workspace = elsewhere
    session.start(journal.url)
    session.ask()
    session.enter("/theme")
    session.terminal.wait_for("Light mode")
    session.terminal.send("Down", "Enter")
    session.terminal.wait_for(PROMPT)
    session.ask()
    session.leave()
    assert session.terminal.wait_exit() == 0
    session.assert_nothing_left()
