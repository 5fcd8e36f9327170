"""Homes with logins, a stand-in agent, and a desktop's keyring."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import CompletedProcess
from typing import Self

import pytest

from homeroom.toolchain.store import Toolchain
from tests.conftest import PrivateHome
from tests.login.vendor import Vendor
from tests.support.runs import assert_nothing_left

ROOT = Path(__file__).parent.parent.parent
STANDIN = Path(__file__).with_name("standin.py")
KEY = "sk-ant-api03-vault-test-key-0123456789-abcdefghij"
OTHER_KEY = "sk-ant-api03-other-test-key-9876543210-jihgfedcba"
TOKEN = "sk-ant-oat01-vault-test-token-0123456789-abcdefgh"


def grant(number: int, *, hours: float = 100, **more: object) -> dict[str, object]:
    """Make up what an agent's file holds of a grant; its secrets hold the number."""
    return {
        "accessToken": f"sk-ant-oat01-access-{number}-0123456789",
        "refreshToken": f"sk-ant-ort01-refresh-{number}-0123456789",
        "expiresAt": int((time.time() + 3600 * hours) * 1000),
        "scopes": ["user:inference"],
        **more,
    }


def grant_text(number: int, *, hours: float = 100, **more: object) -> str:
    return json.dumps({"claudeAiOauth": grant(number, hours=hours, **more)})


@dataclass(frozen=True)
class User:
    """A user of homeroom with a home of their own.

    Attributes:
        home: It.
        workspace: Where they are.
    """

    home: PrivateHome
    workspace: Path

    @property
    def state(self) -> Path:
        return self.home.root / "state"

    @property
    def store(self) -> Path:
        """The file of the agent's own login."""
        return self.home.home / ".claude" / ".credentials.json"

    def with_env(self, **more: str | Path) -> Self:
        return replace(self, home=self.home.with_env(**more))

    def at(self, vendor: Vendor) -> Self:
        """Let this user's vendor be that one."""
        return self.with_env(https_proxy=vendor.url, SSL_CERT_FILE=vendor.certificate)

    def argv(self, *arguments: str) -> list[str]:
        return [sys.executable, str(STANDIN), *arguments]

    def run(self, *arguments: str, stdin: str = "") -> CompletedProcess[str]:
        """Run homeroom, to which the stand-in agent is known too."""
        return subprocess.run(
            self.argv(*arguments),
            env=self.home.env,
            cwd=self.workspace,
            input=stdin,
            timeout=60,
            capture_output=True,
            text=True,
            check=False,
        )

    def configure(self, text: str) -> None:
        directory = self.home.root / "config"
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        (directory / "config.toml").write_text(text)

    def log_in_to_the_agent(self, text: str, account: str | None = "me") -> None:
        """Write the agent's own login."""
        self.store.parent.mkdir(mode=0o700, exist_ok=True)
        self.store.write_text(text)
        self.store.chmod(0o600)
        if account is not None:
            state = {"oauthAccount": {"accountUuid": account}}
            (self.home.home / ".claude.json").write_text(json.dumps(state))

    def index(self) -> list[dict[str, object]]:
        path = self.state / "vault" / "index.json"
        entries: list[dict[str, object]] = json.loads(path.read_text())["entries"]
        return entries


@pytest.fixture
def user(private_home: PrivateHome, workspace: Path) -> User:
    """A user whose machine has neither a keyring nor a toolchain."""
    # tests/ must be importable by name: backends of keyrings are.
    return User(private_home.with_env(PYTHONPATH=ROOT), workspace)


@pytest.fixture
def ready_user(user: User, toolchain: Toolchain) -> Iterator[User]:
    """The same with a toolchain. Nothing may be left of their runs."""
    yield user.with_env(HOMEROOM_TOOLCHAIN=toolchain.root)
    assert_nothing_left(user.home.root)


@pytest.fixture
def vendor(tmp_path: Path) -> Iterator[Vendor]:
    """A provider's server in the place of every one there is."""
    server = Vendor(tmp_path)
    with server.running():
        yield server


@dataclass(frozen=True)
class Desktop:
    """A session bus with a keyring on it.

    Attributes:
        env: How programs find it.
    """

    env: Mapping[str, str]

    def lock(self) -> None:
        """Lock the keyring, as a screen saver does."""
        code = (
            "import secretstorage as s; bus = s.dbus_init(); "
            "s.get_default_collection(bus).lock(); bus.close()"
        )
        subprocess.run([sys.executable, "-c", code], env=dict(self.env), check=True)


@pytest.fixture
def desktop(tmp_path: Path) -> Iterator[Desktop]:
    """A real gnome-keyring, open, on a bus of its own."""
    home = tmp_path / "desktop"
    home.mkdir(mode=0o700)
    bus = _program("dbus-daemon")
    ring = _program("gnome-keyring-daemon")
    env = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "DBUS_SESSION_BUS_ADDRESS": f"unix:path={home}/bus",
    }
    with ExitStack() as stack:
        address = f"--address={env['DBUS_SESSION_BUS_ADDRESS']}"
        _start(stack, [bus, "--session", "--nofork", "--nopidfile", address], env)
        _wait_for(home / "bus")
        keyring = _start(stack, [ring, "--foreground", "--unlock", "--components=secrets"], env)
        assert keyring.stdin
        keyring.stdin.write(b"password")
        keyring.stdin.close()
        _wait_for(home / ".local/share/keyrings/login.keyring")
        yield Desktop(env)


def _program(name: str) -> str:
    found = shutil.which(name)
    assert found, f"{name} is missing: `sh nox.sh -s test` installs what the tests need"
    return found


def _start(stack: ExitStack, argv: list[str], env: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    program = subprocess.Popen(
        argv,
        env=dict(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def end() -> None:
        program.kill()
        program.communicate()

    stack.callback(end)
    return program


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + 10
    while not path.exists():
        assert time.monotonic() < deadline, f"there is no {path}"
        time.sleep(0.02)
