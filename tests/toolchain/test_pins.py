"""Pins are strict: one exact version, one hash, no address."""

import json
import os
import sys
from typing import Any

import pytest

from homeroom.errors import HomeroomError, IntegrityError, ToolError
from homeroom.toolchain.data import LOCK_DIR, LOCK_FILES, lock_hash
from homeroom.toolchain.host import PLATFORMS, platform_key
from homeroom.toolchain.pins import load
from tests.toolchain.conftest import SMALL, SMALL_PACKAGE, LockDir

NATIVE = f"node_modules/{SMALL_PACKAGE}-linux-x64"


@pytest.mark.parametrize("platform", PLATFORMS)
def test_every_platform_has_every_tool(platform: str) -> None:
    pins = load(platform=platform)
    assert set(pins.tools) == {"srt", "claude", "codex", "ripgrep", "model-server"}
    assert len(pins.wheel.sha256) == 64
    assert all(pin.integrity.startswith("sha512-") for pin in pins.tools.values())
    assert all(pin.build.unpacked > 0 for pin in pins.tools.values())


def test_no_file_holds_an_address() -> None:
    assert [name for name in LOCK_FILES if "://" in (LOCK_DIR / name).read_text()] == []
    assert {file.name for file in LOCK_DIR.iterdir()} == set(LOCK_FILES)


def test_a_platform_has_a_hash_of_its_own() -> None:
    assert len({lock_hash(platform=platform) for platform in PLATFORMS}) == len(PLATFORMS)


@pytest.mark.parametrize("name", LOCK_FILES)
def test_the_hash_covers_every_byte(lock_dir: LockDir, name: str) -> None:
    before = lock_hash(lock_dir.path)
    assert before == lock_hash()
    with (lock_dir.path / name).open("ab") as file:
        file.write(b" ")
    assert lock_hash(lock_dir.path) != before


def drop_integrity(lock: Any) -> None:
    del lock["packages"][NATIVE]["integrity"]


def weaken_integrity(lock: Any) -> None:
    lock["packages"][NATIVE]["integrity"] = "sha1-Y29udGVudCBvZiB0aGUgdGFyYmFsbA=="


def add_second_integrity(lock: Any) -> None:
    lock["packages"][NATIVE]["integrity"] += " sha512-" + "A" * 86 + "=="


def add_address(lock: Any) -> None:
    lock["packages"][NATIVE]["resolved"] = "https://mirror.example.invalid/a.tgz"


def add_local_path(lock: Any) -> None:
    lock["packages"][NATIVE]["resolved"] = "../evil"


def link_elsewhere(lock: Any) -> None:
    lock["packages"]["node_modules/extra"] = {"link": True, "resolved": "extra"}


def leave_directory(lock: Any) -> None:
    lock["packages"]["node_modules/../x"] = lock["packages"][NATIVE]


def lock_a_range(lock: Any) -> None:
    lock["packages"][NATIVE]["version"] = "^1.18.0"


def lock_another_version(lock: Any) -> None:
    lock["packages"][f"node_modules/{SMALL_PACKAGE}"]["version"] = "1.17.0"


def drop_native(lock: Any) -> None:
    del lock["packages"][NATIVE]


def ask_for_more(lock: Any) -> None:
    lock["packages"][""]["dependencies"]["zod"] = "3.0.0"


def change_format(lock: Any) -> None:
    lock["lockfileVersion"] = 2


@pytest.mark.parametrize(
    "spoil",
    [
        drop_integrity,
        weaken_integrity,
        add_second_integrity,
        add_address,
        add_local_path,
        link_elsewhere,
        leave_directory,
        lock_a_range,
        lock_another_version,
        drop_native,
        ask_for_more,
        change_format,
    ],
)
def test_a_loose_lock_is_refused(lock_dir: LockDir, spoil: Any) -> None:
    lock_dir.edit("package-lock.json", spoil)
    with pytest.raises(IntegrityError, match="faulty pins"):
        load(lock_dir.path, "linux-x64")


def unhash_wheel(pins: Any) -> None:
    del pins["node"]["wheels"]["linux-x64"]["sha256"]


def shorten_hash(pins: Any) -> None:
    pins["node"]["wheels"]["linux-x64"]["sha256"] = "abc"


def rename_wheel(pins: Any) -> None:
    pins["node"]["wheels"]["linux-x64"]["file"] = "evil-1.0.0-py3-none-any.whl"


def open_version(pins: Any) -> None:
    pins["node"]["version"] = ">=24"


def leave_toolchain(pins: Any) -> None:
    pins["tools"][SMALL]["builds"]["linux-x64"]["file"] = "../../bin/sh"


def absolute_node(pins: Any) -> None:
    pins["node"]["file"] = "/usr/bin/node"


def unknown_key(pins: Any) -> None:
    pins["index"] = "mirror"


def extra_tool(pins: Any) -> None:
    pins["tools"]["more"] = {"package": "more", "builds": {}}


def newer_schema(pins: Any) -> None:
    pins["schema"] = 2


@pytest.mark.parametrize(
    "spoil",
    [
        unhash_wheel,
        shorten_hash,
        rename_wheel,
        open_version,
        leave_toolchain,
        absolute_node,
        unknown_key,
        extra_tool,
        newer_schema,
    ],
)
def test_a_loose_pin_is_refused(lock_dir: LockDir, spoil: Any) -> None:
    lock_dir.edit("pins.json", spoil)
    with pytest.raises(IntegrityError, match="faulty pins"):
        load(lock_dir.path, "linux-x64")


def test_a_range_in_the_manifest_is_refused(lock_dir: LockDir) -> None:
    lock_dir.edit("package.json", lambda it: it["dependencies"].update({SMALL_PACKAGE: "*"}))
    with pytest.raises(IntegrityError, match="faulty pins"):
        load(lock_dir.path)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]", b"null", b"[" * 5000])
@pytest.mark.parametrize("name", LOCK_FILES)
def test_a_damaged_file_is_refused(lock_dir: LockDir, name: str, content: bytes) -> None:
    (lock_dir.path / name).write_bytes(content)
    with pytest.raises(IntegrityError, match="faulty pins"):
        load(lock_dir.path)


@pytest.mark.parametrize("name", LOCK_FILES)
def test_a_missing_file_is_refused(lock_dir: LockDir, name: str) -> None:
    (lock_dir.path / name).unlink()
    with pytest.raises(HomeroomError, match=name):
        load(lock_dir.path)


@pytest.mark.parametrize("what", ["node", SMALL])
def test_a_tool_without_a_build_for_the_platform_is_told(lock_dir: LockDir, what: str) -> None:
    def drop(pins: Any) -> None:
        table = pins["node"]["wheels"] if what == "node" else pins["tools"][SMALL]["builds"]
        del table["darwin-arm64"]

    lock_dir.edit("pins.json", drop)
    with pytest.raises(ToolError, match="not pinned for darwin-arm64"):
        load(lock_dir.path, "darwin-arm64")


def test_the_manifest_is_npms_own_format() -> None:
    manifest = json.loads((LOCK_DIR / "package.json").read_bytes())
    assert set(manifest) == {"name", "private", "dependencies"}


class Uname:
    def __init__(self, machine: str) -> None:
        self.machine = machine


@pytest.mark.parametrize(
    ("system", "machine", "glibc", "expected"),
    [
        ("linux", "x86_64", "glibc 2.36", "linux-x64"),
        ("linux", "aarch64", "glibc 2.36", "linux-arm64"),
        ("linux", "x86_64", None, "linux-x64-musl"),
        ("darwin", "arm64", None, "darwin-arm64"),
        ("darwin", "x86_64", None, "darwin-x64"),
    ],
)
def test_machines_are_named_as_the_pins_do(
    monkeypatch: pytest.MonkeyPatch, system: str, machine: str, glibc: str | None, expected: str
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(os, "uname", lambda: Uname(machine))
    monkeypatch.setattr(os, "confstr", lambda _name: glibc)
    assert platform_key() == expected


def test_an_unknown_machine_is_told_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "uname", lambda: Uname("riscv64"))
    with pytest.raises(ToolError, match="riscv64") as told:
        platform_key()
    assert "linux-arm64" in (told.value.hint or "")
