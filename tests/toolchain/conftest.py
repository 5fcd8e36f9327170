"""Pins of one small tool, in a directory that a test may spoil."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from homeroom.toolchain.data import LOCK_DIR
from tests.conftest import PrivateHome

WORKER = Path(__file__).parent / "worker.py"
SMALL = "ripgrep"
SMALL_PACKAGE = "@vscode/ripgrep"


class LockDir:
    """A copy of the pins, and how to change it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, name: str) -> Any:
        return json.loads((self.path / name).read_bytes())

    def edit(self, name: str, change: Callable[[Any], object]) -> None:
        document = self.read(name)
        change(document)
        (self.path / name).write_text(json.dumps(document, indent=2) + "\n")


@pytest.fixture
def lock_dir(tmp_path: Path) -> LockDir:
    """A copy of the shipped pins."""
    copy = tmp_path / "lock"
    copy.mkdir()
    for file in LOCK_DIR.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    return LockDir(copy)


def narrow(lock_dir: LockDir, tool: str) -> LockDir:
    """Leave nothing in the pins but Node.js and one tool without dependencies."""
    package = lock_dir.read("pins.json")["tools"][tool]["package"]

    def narrow_lock(lock: dict[str, Any]) -> None:
        kept = {key: it for key, it in lock["packages"].items() if package in key or not key}
        kept[""]["dependencies"] = {package: kept[""]["dependencies"][package]}
        lock["packages"] = kept

    def narrow_manifest(manifest: dict[str, Any]) -> None:
        manifest["dependencies"] = {package: manifest["dependencies"][package]}

    lock_dir.edit("package-lock.json", narrow_lock)
    lock_dir.edit("package.json", narrow_manifest)
    lock_dir.edit("pins.json", lambda pins: pins.update(tools={tool: pins["tools"][tool]}))
    return lock_dir


@pytest.fixture
def small_lock(lock_dir: LockDir) -> LockDir:
    """Pins of Node.js and one tool of a few megabytes."""
    return narrow(lock_dir, SMALL)


class Setup:
    """Setups of some pins in a private home, each a process."""

    def __init__(self, home: PrivateHome, lock_dir: Path) -> None:
        self.home = home
        self.lock_dir = lock_dir
        self.toolchains = home.root / "data" / "toolchains"

    def start(self, *options: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(WORKER), str(self.lock_dir), *options],
            env=self.home.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *options: str) -> tuple[int, str, str]:
        with self.start(*options) as process:
            output, errors = process.communicate(timeout=100)
            return process.returncode, output, errors

    def wait_for(self, pattern: str, process: subprocess.Popen[str]) -> None:
        """Wait until a file of that glob pattern is there, below the toolchains."""
        deadline = time.monotonic() + 60
        while not any(self.toolchains.glob(pattern)):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline, f"{pattern} never came"
            time.sleep(0.005)

    def entries(self) -> list[str]:
        """List what is in the directory of the toolchains, the lock excepted."""
        return sorted(entry.name for entry in self.toolchains.iterdir() if entry.suffix != ".lock")

    def processes(self) -> list[psutil.Process]:
        """List the processes that work below the home's root."""
        found = []
        for process in psutil.process_iter():
            try:
                if str(self.home.root) in " ".join(process.cmdline()):
                    found.append(process)
            except psutil.Error:
                continue
        return found


@pytest.fixture
def small_setup(online_home: PrivateHome, small_lock: LockDir) -> Iterator[Setup]:
    """Setups of the small pins, from the registries."""
    setup = Setup(online_home, small_lock.path)
    yield setup
    for process in setup.processes():
        process.kill()


@pytest.fixture
def unreachable(private_home: PrivateHome) -> PrivateHome:
    """A home from which no registry can be reached, which is noticed at once."""
    nowhere: Mapping[str, str] = {
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_RETRIES": "0",
        "npm_config_registry": "http://127.0.0.1:9/",
        "npm_config_fetch_retries": "0",
    }
    return private_home.with_env(**nowhere)


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A private directory that cannot be written to, not even by root."""
    directory = tmp_path / "read-only"
    directory.mkdir(0o500)
    if os.geteuid() != 0:
        yield directory
        directory.chmod(0o700)
        return
    with mounted(directory, "ro,mode=700"):
        yield directory


@contextlib.contextmanager
def mounted(directory: Path, options: str) -> Iterator[None]:
    """Mount a file system of its own on a directory; only root can."""
    mount = ["mount", "-t", "tmpfs", "-o", options, "homeroom-test", str(directory)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        # On a machine for tests a skip would prove nothing, and nobody would see it.
        give_up = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        give_up(f"this root may not mount: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(directory)], check=True)
