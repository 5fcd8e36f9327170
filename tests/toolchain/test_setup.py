"""`homeroom setup`, as people and scripts run it."""

import json
import os
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest

from homeroom.paths import locate
from homeroom.toolchain.data import lock_hash
from homeroom.toolchain.health import hash_file
from homeroom.toolchain.store import Toolchain, find, planned
from tests.conftest import PrivateHome
from tests.support.cli import homeroom_argv, run_homeroom
from tests.support.tree import snapshot
from tests.toolchain.conftest import LockDir, Setup

TOOLS = ["node", "srt", "claude", "codex", "ripgrep", "model-server"]


def setup(home: PrivateHome, *options: str) -> subprocess.CompletedProcess[str]:
    return run_homeroom("setup", *options, env=home.env, cwd=home.home, timeout=110)


@pytest.mark.network
def test_the_whole_toolchain_is_installed_once(online_home: PrivateHome) -> None:
    home = snapshot(online_home.home)
    done = setup(online_home, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    plan = planned(locate(online_home.env), online_home.env)
    assert (report["schema"], report["installed"]) == (1, True)
    assert (report["lock_hash"], report["root"]) == (lock_hash(), str(plan.root))
    assert [tool["name"] for tool in report["tools"]] == TOOLS
    for tool in report["tools"]:
        pinned = plan.tools[tool["name"]]
        assert (tool["path"], tool["version"]) == (str(pinned.path), pinned.version)
        assert tool["hash"] == hash_file(pinned.path)
        assert f"{tool['name']} {tool['version']}  " in done.stderr
    assert {tool["name"] for tool in report["system"]} == {"bubblewrap", "socat"}
    assert " MB" in done.stderr
    assert snapshot(online_home.home) == home

    mark = (plan.root / "toolchain.json").stat()
    started = time.monotonic()
    again = setup(online_home, "--json")
    assert time.monotonic() - started < 3
    assert json.loads(again.stdout) == report | {"installed": False}
    assert again.stderr == ""
    assert (plan.root / "toolchain.json").stat() == mark

    found = find(locate(online_home.env), online_home.env)
    assert found is not None
    run_each(found, online_home)


def run_each(toolchain: Toolchain, home: PrivateHome) -> None:
    """Run each program: native ones by themselves, scripts by the pinned Node.js."""
    tools = toolchain.tools
    for name in ("node", "claude", "codex", "ripgrep"):
        said = subprocess.check_output([tools[name].path, "--version"], text=True, env=home.env)
        # The npm package of ripgrep has a version of its own.
        assert ("ripgrep" if name == "ripgrep" else tools[name].version) in said
    for name in ("srt", "model-server"):
        argv = [str(tools["node"].path), str(tools[name].path), "--help"]
        assert "usage" in subprocess.check_output(argv, text=True, env=home.env).lower()


@pytest.mark.network
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_its_own_status(
    online_home: PrivateHome, tmp_path: Path, number: signal.Signals
) -> None:
    watch = Setup(online_home, tmp_path)
    argv = homeroom_argv("setup", "--json")
    with subprocess.Popen(
        argv, env=online_home.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        watch.wait_for(".staging-*/.tmp", process)
        process.send_signal(number)
        output, errors = process.communicate(timeout=30)
    assert (process.returncode, output) == (128 + number, "")
    assert "ended by a signal" in errors
    assert watch.entries() == []


def test_a_missing_system_tool_comes_before_any_download(private_home: PrivateHome) -> None:
    done = setup(private_home.with_env(PATH="/nowhere"), "--json")
    assert done.returncode == 69
    error = json.loads(done.stdout)["error"]
    assert error["kind"] == "tool"
    assert "bubblewrap" in error["message"]
    assert "socat" in error["hint"]
    assert not private_home.root.exists()


def test_a_named_toolchain_is_told_and_nothing_is_made(ready_home: PrivateHome) -> None:
    done = setup(ready_home)
    assert done.returncode == 0, done.stderr
    assert f"HOMEROOM_TOOLCHAIN names {ready_home.env['HOMEROOM_TOOLCHAIN']}" in done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[: len(TOOLS)]] == TOOLS
    assert "of the system" in done.stdout
    assert not ready_home.root.exists()


def test_a_named_toolchain_that_is_none_is_refused(private_home: PrivateHome) -> None:
    done = setup(private_home.with_env(HOMEROOM_TOOLCHAIN=private_home.home))
    assert done.returncode == 69
    assert "is not a whole toolchain" in done.stderr
    assert not private_home.root.exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--pin", "srt=1.0.0"), "only goes with"),
        (("--upgrade-pins", "DIR", "--pin", "srt"), "NAME=VERSION"),
        (("--upgrade-pins", "DIR", "--pin", "=1"), "NAME=VERSION"),
        (("--upgrade-pins", "DIR", "--pin", "nothing=1.0.0"), "no such tool: nothing"),
        (("--upgrade-pins", "/nowhere"), "pins.json"),
    ],
)
def test_wrong_use_is_told(
    private_home: PrivateHome, lock_dir: LockDir, options: tuple[str, ...], words: str
) -> None:
    placed = [str(lock_dir.path) if it == "DIR" else it for it in options]
    done = setup(private_home, *placed)
    assert done.returncode in {2, 65}
    assert words in done.stderr


def test_help_teaches(private_home: PrivateHome) -> None:
    said = setup(private_home, "--help").stdout
    assert "examples:" in said
    assert "HOMEROOM_TOOLCHAIN" in said
    assert max(map(len, said.splitlines())) <= 100


def test_a_read_only_place_is_told(private_home: PrivateHome, read_only: Path) -> None:
    done = setup(private_home.with_env(HOMEROOM_HOME=read_only))
    assert done.returncode == 73
    assert str(read_only) in done.stderr
    assert stat.S_ISDIR(os.stat(read_only).st_mode)
