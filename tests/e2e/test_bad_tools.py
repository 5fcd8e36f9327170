"""Tools that are missing or cannot be run, and logins that cannot be read."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from homeroom.toolchain.store import Toolchain
from tests.conftest import PrivateHome
from tests.e2e.refusal import (
    CREDENTIAL,
    TOOL,
    assert_refused,
)
from tests.e2e.runner import Runner, with_tool
from tests.e2e.session import ANSWER
from tests.support.cli import run_homeroom
from tests.support.runs import Journal

pytestmark = pytest.mark.usefixtures("user_files_stay")


def test_a_toolchain_that_is_not_installed_is_named(
    private_home: PrivateHome, workspace: Path
) -> None:
    done = run_homeroom(*("start", "--demo", "--", "-p", "hi"), env=private_home.env, cwd=workspace)
    assert_refused(done, TOOL, "the pinned tools are not installed", "homeroom setup")
    assert not (private_home.root / "state" / "instances").exists()


@pytest.mark.parametrize("named", ["relative", "/nonexistent", "{tmp}"])
def test_a_named_toolchain_that_is_none_is_refused(
    runner: Runner, journal: Journal, tmp_path: Path, named: str
) -> None:
    path = named.format(tmp=tmp_path)
    done = runner.start(journal, "-p", "hi", env=runner.home.env | {"HOMEROOM_TOOLCHAIN": path})
    assert_refused(done, TOOL, f"HOMEROOM_TOOLCHAIN={path}", asked=journal)


@pytest.mark.parametrize("kind", ["missing", "not executable", "a directory"])
@pytest.mark.parametrize("tool", ["claude", "node"])
def test_a_tool_that_cannot_be_run_is_named(
    runner: Runner,
    journal: Journal,
    toolchain: Toolchain,
    tmp_path: Path,
    tool: str,
    kind: str,
) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    root = with_tool(toolchain, tmp_path, **{tool: program})
    if kind == "missing":
        (root / f"own-{tool}").unlink()
    elif kind == "a directory":
        (root / f"own-{tool}").unlink()
        (root / f"own-{tool}").mkdir()
    env = runner.home.env | {"HOMEROOM_TOOLCHAIN": str(root)}
    done = runner.start(journal, "-p", "hi", env=env)
    assert_refused(done, TOOL, tool, str(root), "homeroom setup", asked=journal)


def bin_without(missing: str, directory: Path, env: dict[str, str]) -> Path:
    """Make a directory with all that homeroom calls of the system, but for one."""
    directory.mkdir()
    for name in {"bash", "bwrap", "env", "git", "rm", "sh", "socat", "which"} - {missing}:
        found = shutil.which(name, path=env["PATH"])
        assert found, name
        (directory / name).symlink_to(os.path.realpath(found))
    return directory


@pytest.mark.parametrize("tool", ["bwrap", "socat", "bash", "which"])
def test_a_system_tool_that_is_missing_is_named(
    runner: Runner, journal: Journal, tmp_path: Path, tool: str
) -> None:
    path = bin_without(tool, tmp_path / "bin", runner.home.env)
    done = runner.start(journal, "-p", "hi", env=runner.home.env | {"PATH": str(path)})
    assert_refused(done, TOOL, tool, "hint: ", asked=journal)


SECRET = "sk-ant-oat01-not-to-be-shown"
CORRUPT: dict[str, Callable[[Path], object]] = {
    "cut off": lambda path: path.write_text(f'{{"claudeAiOauth": {{"accessToken": "{SECRET}'),
    "not text": lambda path: path.write_bytes(b"\xff\xfe\x00" + SECRET.encode()),
    "empty": Path.touch,
    "a list": lambda path: path.write_text(f'["{SECRET}"]'),
    "too deep": lambda path: path.write_text('{"a":' * 100_000),
    "a directory": Path.mkdir,
    "a fifo": os.mkfifo,
}


@pytest.mark.parametrize("kind", CORRUPT)
@pytest.mark.parametrize("name", [".claude/.credentials.json", ".claude.json"])
def test_a_damaged_login_is_named_and_never_shown(runner: Runner, name: str, kind: str) -> None:
    home = runner.home.home
    (home / ".claude").mkdir()
    grant = {"accessToken": SECRET, "scopes": ["user:inference"], "expiresAt": 4102444800000}
    (home / ".claude" / ".credentials.json").write_text(json.dumps({"claudeAiOauth": grant}))
    path = home / name
    path.unlink(missing_ok=True)
    CORRUPT[kind](path)
    done = runner.start_plain("-p", "hi")
    assert_refused(done, CREDENTIAL, str(path), "hint: ")
    assert SECRET not in done.stderr


@pytest.mark.parametrize("name", [".claude/.credentials.json", ".claude.json"])
def test_a_damaged_login_is_no_matter_where_it_is_not_used(
    runner: Runner, journal: Journal, name: str
) -> None:
    path = runner.home.home / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("{")
    done = runner.start(journal, "-p", "hi")
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n"), done.stderr


@pytest.mark.parametrize("tool", ["bwrap", "git"])
def test_a_system_tool_that_a_run_may_have_made_is_not_started(
    runner: Runner, journal: Journal, tool: str
) -> None:
    planted = runner.workspace / ".venv" / "bin" / tool
    planted.parent.mkdir(parents=True)
    planted.write_text(f"#!/bin/sh\n: >{runner.workspace}/was-run\n")
    planted.chmod(0o755)
    path = f"{planted.parent}{os.pathsep}{runner.home.env['PATH']}"
    done = runner.start(journal, "-p", "hi", env=runner.home.env | {"PATH": path})
    assert_refused(done, TOOL, f"{tool} would be started from {planted}", asked=journal)
    assert not (runner.workspace / "was-run").exists()


def test_homeroom_is_not_started_from_where_its_run_could_change_it(
    runner: Runner, journal: Journal
) -> None:
    """Modules that are loaded when the agent has begun would be the agent's own."""
    planted = runner.workspace / ".venv" / "lib"
    planted.mkdir(parents=True)
    done = runner.start(journal, "-p", "hi", env=runner.home.env | {"PYTHONPATH": str(planted)})
    assert_refused(done, TOOL, f"homeroom itself is run from {planted}", asked=journal)


def test_a_module_in_the_workspace_is_not_taken_for_one_of_homerooms(
    runner: Runner, journal: Journal
) -> None:
    for name in ("psutil", "msgspec", "argparse", "keyring"):
        (runner.workspace / f"{name}.py").write_text(f"open('{runner.workspace}/was-run', 'w')")
    done = runner.start(journal, "-p", "hi")
    assert done.returncode == 0, done.stderr
    assert not (runner.workspace / "was-run").exists()
