"""A browser for the report, and the rules of accessibility that it is held against."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from homeroom.toolchain import pins
from homeroom.toolchain.store import NODE, Toolchain
from tests.check.machine import AGENT, Machine, own_file, well
from tests.conftest import REGISTRIES, PrivateHome

AXE = Path(__file__).parent / "axe"


# While it is there an event loop runs in this thread, which other modules want for theirs.
@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """The system's Chromium, with a home of its own."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    assert program, "the report's tests need chromium"
    home = tmp_path_factory.mktemp("browser")
    # Chromium refuses its own sandbox as root; it shows nothing but pages of these tests.
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program,
            args=["--no-proxy-server", "--disable-dev-shm-usage", *options],
            env={"HOME": str(home), "PATH": os.environ["PATH"], "TMPDIR": str(home)},
        )
        yield browser
        browser.close()


# While it is there an event loop runs in this thread, which other modules want for theirs.
@pytest.fixture(scope="module")
def axe(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> str:
    """axe-core's source, as pinned by hash, installed by the pinned Node.js's npm."""
    directory = tmp_path_factory.mktemp("axe")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(AXE / name, directory)
    npm = toolchain.root / NODE / pins.load().node.npm
    kept = {name: value for name, value in os.environ.items() if REGISTRIES.fullmatch(name)}
    subprocess.run(
        [toolchain.tools[NODE].path, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
        cwd=directory,
        env={**kept, "HOME": str(directory), "PATH": os.environ["PATH"]},
        check=True,
        capture_output=True,
        timeout=100,
    )
    return (directory / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], str]:
    """Writes a page into a file, and gives its address."""

    def write(content: str) -> str:
        path = tmp_path / "report.html"
        path.write_text(content, encoding="utf-8")
        return path.as_uri()

    return write


@pytest.fixture
def machine(ready_home: PrivateHome, workspace: Path) -> Machine:
    return well(ready_home.env, workspace)


@pytest.fixture
def logged_in(machine: Machine) -> Machine:
    """A machine whose user is logged in with the agent's own CLI."""
    own = own_file(machine)
    own.parent.mkdir(mode=0o700)
    grant = {
        "accessToken": "sk-ant-oat01-x",
        "refreshToken": "sk-ant-ort01-x",
        "expiresAt": 4_000_000_000_000,
        "scopes": [],
    }
    own.touch(mode=0o600)
    own.write_text(json.dumps({"claudeAiOauth": grant}))
    keys = [name for name in machine.env if name.startswith(f"HOMEROOM_{AGENT.upper()}")]
    return machine.without_env(*keys)
