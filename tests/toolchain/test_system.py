"""What the system must bring, and the command that brings it."""

import os
import platform
import sys
from pathlib import Path

import pytest

from homeroom.errors import ToolError
from homeroom.toolchain import system
from homeroom.toolchain.distribution import install_command, read_release
from homeroom.toolchain.system import check_system_tools, locate_system_tools

PACKAGES = ("bubblewrap", "socat")
BOTH = "bubblewrap socat"
NIX = (
    "nix --extra-experimental-features 'nix-command flakes' profile install"
    " nixpkgs#bubblewrap nixpkgs#socat"
)


class Programs:
    """Fake programs on a PATH of their own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.environ = {"PATH": str(path)}
        path.mkdir()

    def add(self, name: str, says: str, mode: int = 0o755, status: int = 0) -> Path:
        program = self.path / name
        program.write_text(f"#!/bin/sh\necho '{says}'\nexit {status}\n")
        program.chmod(mode)
        return program


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """A PATH with a bubblewrap and a socat that are new enough, on a Debian as a plain user."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(system, "read_release", lambda: {"ID": "debian"})
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    found = Programs(tmp_path / "bin")
    found.add("bwrap", "bubblewrap 0.8.0")
    found.add("socat", "socat by Gerhard Rieger\nsocat version 1.7.4.4 on 06 Nov 2022")
    return found


def test_what_is_there_is_found_with_its_version(programs: Programs) -> None:
    found = check_system_tools(programs.environ)
    assert {name: tool.version for name, tool in found.items()} == {
        "bubblewrap": "0.8.0",
        "socat": "1.7.4.4",
    }
    assert found["bubblewrap"].path == programs.path / "bwrap"


def test_locating_runs_nothing(programs: Programs, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    (programs.path / "bwrap").write_text(f"#!/bin/sh\ntouch {ran}\n")
    found = locate_system_tools(programs.environ)
    assert [tool.version for tool in found.values()] == [None, None]
    assert not ran.exists()


@pytest.mark.parametrize("missing", [("bwrap",), ("socat",), ("bwrap", "socat")])
def test_what_is_missing_is_named_with_the_command(
    programs: Programs, missing: tuple[str, ...]
) -> None:
    for name in missing:
        (programs.path / name).unlink()
    with pytest.raises(ToolError, match="not installed") as told:
        locate_system_tools(programs.environ)
    packages = " ".join("bubblewrap" if name == "bwrap" else name for name in missing)
    assert told.value.hint == (f"sudo apt-get update && sudo apt-get install -y {packages}")
    assert all(name in told.value.message for name in missing)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may execute what has any execute bit")
def test_a_program_for_others_only_is_not_executable(programs: Programs) -> None:
    programs.add("bwrap", "bubblewrap 0.8.0", mode=0o611)
    with pytest.raises(ToolError, match="not executable"):
        locate_system_tools(programs.environ)


def test_what_is_not_executable_is_told_as_that(programs: Programs) -> None:
    broken = programs.add("bwrap", "bubblewrap 0.8.0", mode=0o644)
    with pytest.raises(ToolError, match=f"{broken} .bubblewrap. is there, but not executable"):
        locate_system_tools(programs.environ)


def test_what_is_not_executable_is_passed_over(programs: Programs, tmp_path: Path) -> None:
    first = Programs(tmp_path / "first")
    first.add("bwrap", "bubblewrap 0.8.0", mode=0o644)
    (first.path / "socat").mkdir()
    found = locate_system_tools({"PATH": f"{first.path}:/nowhere:{programs.path}"})
    assert found["bubblewrap"].path == programs.path / "bwrap"
    assert found["socat"].path == programs.path / "socat"


@pytest.mark.parametrize("path", ["bin", "", ".", "./bin:bin"])
def test_a_relative_path_entry_finds_nothing(
    programs: Programs, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(programs.path.parent)
    with pytest.raises(ToolError):
        locate_system_tools({"PATH": path})
    monkeypatch.undo()


@pytest.mark.parametrize(
    ("program", "says", "expected"),
    [
        ("bwrap", "bubblewrap 0.4.1", "0.4.1, which is older than 0.5.0"),
        ("bwrap", "bubblewrap 0.4", "0.4, which is older than 0.5.0"),
        ("socat", "socat version 1.7.3.3 on", "1.7.3.3, which is older than 1.7.4"),
        ("bwrap", "hello", "tells no version"),
        ("socat", "", "tells no version"),
    ],
)
def test_what_is_too_old_or_silent_is_refused(
    programs: Programs, program: str, says: str, expected: str
) -> None:
    programs.add(program, says)
    with pytest.raises(ToolError, match=expected) as told:
        check_system_tools(programs.environ)
    assert (told.value.hint or "").startswith("sudo apt-get")


@pytest.mark.parametrize("says", ["bubblewrap 0.5.0", "bubblewrap 0.11.0", "bubblewrap 1.0"])
def test_the_floor_itself_and_newer_ones_do(programs: Programs, says: str) -> None:
    programs.add("bwrap", says)
    assert check_system_tools(programs.environ)["bubblewrap"].version == says.split()[1]


def test_what_cannot_be_run_is_told(programs: Programs) -> None:
    (programs.path / "socat").write_bytes(b"\x7fELF not really")
    with pytest.raises(ToolError, match="does not run"):
        check_system_tools(programs.environ)


def test_what_hangs_is_told(programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "_TIMEOUT", 0.1)
    (programs.path / "bwrap").write_text("#!/bin/sh\nexec /bin/sleep 20\n")
    with pytest.raises(ToolError, match="does not run"):
        check_system_tools(programs.environ)


def test_macos_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert locate_system_tools({"PATH": ""}) == {}
    assert check_system_tools({"PATH": ""}) == {}


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ({"ID": "debian"}, f"sudo apt-get update && sudo apt-get install -y {BOTH}"),
        (
            {"ID": "linuxmint", "ID_LIKE": "ubuntu debian"},
            f"sudo apt-get update && sudo apt-get install -y {BOTH}",
        ),
        ({"ID": "fedora"}, f"sudo dnf install -y {BOTH}"),
        ({"ID": "rocky", "ID_LIKE": "rhel centos fedora"}, f"sudo dnf install -y {BOTH}"),
        ({"ID": "arch"}, f"sudo pacman -S --needed {BOTH}"),
        ({"ID": "manjaro", "ID_LIKE": "arch"}, f"sudo pacman -S --needed {BOTH}"),
        ({"ID": "alpine"}, f"sudo apk add {BOTH}"),
        ({"ID": "opensuse-tumbleweed"}, f"sudo zypper install -y {BOTH}"),
        ({"ID": "sled", "ID_LIKE": "suse"}, f"sudo zypper install -y {BOTH}"),
        (
            {"ID": "nixos"},
            NIX,
        ),
        ({"ID": "x", "PRETTY_NAME": "X 1"}, f"install {BOTH} with the package manager of X 1"),
        ({}, f"install {BOTH} with the package manager of this system"),
    ],
)
def test_each_distribution_has_its_command(release: dict[str, str], expected: str) -> None:
    assert install_command(PACKAGES, release, root=False) == expected


def test_root_needs_no_sudo() -> None:
    command = install_command(PACKAGES, {"ID": "ubuntu"}, root=True)
    assert command == f"apt-get update && apt-get install -y {BOTH}"


def test_a_system_without_a_release_file_has_no_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> dict[str, str]:
        raise OSError

    monkeypatch.setattr(platform, "freedesktop_os_release", fail)
    assert read_release() == {}
