"""What pip and npm say when they fail, and what homeroom makes of it."""

import json
import os
import sys
import time
from pathlib import Path

import psutil
import pytest

from homeroom.errors import (
    HomeroomError,
    IntegrityError,
    StateError,
    StorageError,
    ToolError,
    TryAgainError,
)
from homeroom.toolchain import child
from homeroom.toolchain.child import Ended, environment, run
from homeroom.toolchain.fetch import TEMPORARY, fetch_node, fetch_packages
from homeroom.toolchain.pins import Pins, load
from homeroom.toolchain.store import NODE
from tests.conftest import PrivateHome

INTEGRITY = (
    '{"error": {"code": "EINTEGRITY", "summary": "Integrity checksum failed when using'
    ' sha512: wanted %s but got sha512-B==."}}'
)


@pytest.fixture(scope="module")
def pins() -> Pins:
    return load()


def quiet() -> None:
    """Poll nothing."""


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    stage = tmp_path / "stage"
    (stage / TEMPORARY).mkdir(parents=True)
    return stage


def npm_fails(
    monkeypatch: pytest.MonkeyPatch, stage: Path, pins: Pins, ended: Ended
) -> HomeroomError:
    monkeypatch.setattr(child, "run", lambda *_: ended)
    with pytest.raises(HomeroomError) as told:
        fetch_packages(stage, pins, {}, 0, quiet)
    return told.value


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("ECONNREFUSED", TryAgainError),
        ("ENOTFOUND", TryAgainError),
        ("ERR_SOCKET_TIMEOUT", TryAgainError),
        ("E503", TryAgainError),
        ("UNABLE_TO_GET_ISSUER_CERT_LOCALLY", TryAgainError),
        ("E401", ToolError),
        ("E404", ToolError),
        ("ETARGET", ToolError),
        ("EBADENGINE", ToolError),
        ("ENOSPC", StorageError),
        ("EROFS", StateError),
        ("EACCES", StateError),
        ("EUSAGE", IntegrityError),
    ],
)
def test_npms_codes_have_their_error(
    monkeypatch: pytest.MonkeyPatch,
    stage: Path,
    pins: Pins,
    code: str,
    expected: type[HomeroomError],
) -> None:
    said = f'{{"error": {{"code": "{code}", "summary": "it said so"}}}}'
    error = npm_fails(monkeypatch, stage, pins, Ended(1, said, ""))
    assert type(error) is expected
    assert code in error.message
    assert "it said so" in error.message
    assert error.hint


@pytest.mark.parametrize("tool", ["srt", "claude", "codex", "ripgrep"])
def test_a_wrong_tarball_names_its_tool(
    monkeypatch: pytest.MonkeyPatch, stage: Path, pins: Pins, tool: str
) -> None:
    pin = pins.tools[tool]
    ended = Ended(1, INTEGRITY % pin.integrity, "")
    error = npm_fails(monkeypatch, stage, pins, ended)
    assert isinstance(error, IntegrityError)
    assert error.message.startswith(f"{tool} {pin.version} ({pin.build.package}) is not the pinned")


def test_a_wrong_dependency_is_named(
    monkeypatch: pytest.MonkeyPatch, stage: Path, pins: Pins
) -> None:
    (integrity,) = [found for found, package in pins.owners.items() if package == "zod"]
    error = npm_fails(monkeypatch, stage, pins, Ended(1, INTEGRITY % integrity, ""))
    assert error.message.startswith("zod is not the pinned one")


@pytest.mark.parametrize(
    ("ended", "expected"),
    [
        (Ended(-9, "", ""), "npm ended with -9"),
        (Ended(1, "not json", "Error: broken\n\n"), "Error: broken"),
        (Ended(1, '{"error": {}}', "last words"), "last words"),
    ],
)
def test_an_npm_that_breaks_is_a_tool_error(
    monkeypatch: pytest.MonkeyPatch, stage: Path, pins: Pins, ended: Ended, expected: str
) -> None:
    error = npm_fails(monkeypatch, stage, pins, ended)
    assert isinstance(error, ToolError)
    assert expected in error.message


def test_credentials_in_an_address_are_not_told(
    monkeypatch: pytest.MonkeyPatch, stage: Path, pins: Pins
) -> None:
    said = '{"error": {"code": "E503", "summary": "GET https://me:hunter2@mirror.invalid/zod"}}'
    error = npm_fails(monkeypatch, stage, pins, Ended(1, said, ""))
    assert "hunter2" not in error.message
    assert "mirror.invalid" in error.message


def test_native_programs_are_required_of_npm(
    monkeypatch: pytest.MonkeyPatch, stage: Path, pins: Pins
) -> None:
    npm_fails(monkeypatch, stage, pins, Ended(1, "", ""))
    lock = json.loads((stage / "package-lock.json").read_bytes())
    for pin in pins.tools.values():
        entry = lock["packages"][f"node_modules/{pin.build.package}"]
        assert "optional" not in entry
        assert entry["integrity"] == pin.integrity
        assert pin.build.package in lock["packages"][""]["dependencies"]
    manifest = json.loads((stage / "package.json").read_bytes())
    assert manifest["dependencies"] == lock["packages"][""]["dependencies"]


@pytest.mark.parametrize(
    ("said", "expected", "words"),
    [
        (
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM",
            IntegrityError,
            "not the pinned one",
        ),
        ("OSError: [Errno 28] No space left on device", StorageError, "No space"),
        ("ERROR: [Errno 30] Read-only file system: 'x'", StateError, "Read-only"),
        ("ERROR: No matching distribution found (from versions: none)", TryAgainError, "none"),
        ("WARNING: Retrying after connection broken by 'X'", TryAgainError, "Retrying"),
        (
            "(from versions: 1.0, 2.0)\nERROR: No matching distribution found for x",
            ToolError,
            "no Node.js .* for this system",
        ),
        ("python: No module named pip", ToolError, "pip is missing"),
        ("Segmentation fault", ToolError, "Segmentation fault"),
        ("", ToolError, "could not be installed"),
    ],
)
def test_pips_words_have_their_error(
    monkeypatch: pytest.MonkeyPatch,
    stage: Path,
    pins: Pins,
    said: str,
    expected: type[HomeroomError],
    words: str,
) -> None:
    monkeypatch.setattr(child, "run", lambda *_: Ended(1, "", said))
    with pytest.raises(expected, match=words) as told:
        fetch_node(stage, pins, {}, 0, quiet)
    assert told.value.hint


def test_an_index_that_does_not_answer_is_tried_again(
    unreachable: PrivateHome, stage: Path, pins: Pins
) -> None:
    with (stage / "lock").open("w") as lock, pytest.raises(TryAgainError, match=r"Node\.js"):
        fetch_node(stage, pins, unreachable.env, lock.fileno(), quiet)
    assert not (stage / NODE).exists()


def test_the_childs_environment_leads_to_mirrors_and_no_further(tmp_path: Path) -> None:
    given = {
        "HTTPS_PROXY": "http://proxy.invalid",
        "NODE_EXTRA_CA_CERTS": "/ca.pem",
        "NODE_OPTIONS": "--require /evil.js",
        "PIP_CERT": "/ca.pem",
        "PIP_INDEX_URL": "http://mirror.invalid",
        "PIP_TARGET": "/elsewhere",
        "PIP_USER": "1",
        "TMPDIR": "/tmp",
        "npm_config_registry": "http://mirror.invalid",
    }
    kept = environment(given, tmp_path)
    dropped = {"NODE_OPTIONS", "PIP_TARGET", "PIP_USER"}
    own = {
        "TMPDIR": str(tmp_path),
        "LC_ALL": "C.UTF-8",
        "PIP_REQUIRE_VIRTUALENV": "0",
        "NODE_USE_SYSTEM_CA": "1",
        "RUSTUP_HOME": str(tmp_path / "rustup"),
    }
    assert kept == {name: given[name] for name in given.keys() - dropped} | own


def test_a_childs_words_and_status_come_back(tmp_path: Path) -> None:
    polls: list[float] = []
    code = "import sys, time; time.sleep(1); print('out'); sys.stderr.write('err'); sys.exit(3)"
    argv = [sys.executable, "-c", code]
    ended = run(argv, tmp_path, {}, None, lambda: polls.append(time.monotonic()))
    assert ended == Ended(3, "out\n", "err")
    assert polls


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="/nowhere/node"):
        run(["/nowhere/node"], tmp_path, {}, None, quiet)


def test_whatever_is_raised_ends_the_child_and_its_children(tmp_path: Path) -> None:
    # It ignores the polite request, and has a child that does too.
    script = "trap '' TERM; sh -c \"trap '' TERM; sleep 61\" & echo $! > child; sleep 61"

    def interrupt() -> None:
        if (tmp_path / "child").exists():
            raise KeyboardInterrupt

    before = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run(["/bin/sh", "-c", script], tmp_path, dict(os.environ), None, interrupt)
    assert time.monotonic() - before < 10
    grandchild = int((tmp_path / "child").read_text())
    assert not psutil.pid_exists(grandchild) or psutil.Process(grandchild).status() == "zombie"


def test_a_child_has_its_own_session_and_nobody_to_ask(tmp_path: Path) -> None:
    code = (
        "import os, sys; print(os.getsid(0) == os.getpid(), oct(os.umask(0)), [sys.stdin.read()])"
    )
    ended = run([sys.executable, "-c", code], tmp_path, {}, None, quiet)
    assert ended.output.split() == ["True", "0o77", "['']"]
