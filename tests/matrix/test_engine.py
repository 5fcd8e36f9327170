"""Cells in containers: few rights, an end to each, and nothing left of any."""

import os
import platform
import threading
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.errors import DockerException, ImageNotFound
from requests.exceptions import ConnectionError as Unreachable
from requests.exceptions import ReadTimeout

from homeroom import process
from homeroom.errors import ToolError
from matrix import engine, owner
from matrix.engine import Engine
from matrix.grid import Try
from tests.matrix.cells import GOOD
from tests.matrix.fake_engine import FakeClient, refusal


def run(client: Any, logs: Path, user: Any = "plain", limit: int = 5) -> Any:
    with Engine(client, limit=limit, logs=logs).session() as runner:
        return runner.run("sha256:image", Try("0.0.83", user), "sandbox")


def test_a_cell_gives_what_it_saw_and_what_is_installed_and_leaves_only_its_log(
    tmp_path: Path,
) -> None:
    client = FakeClient()
    client.api.errors = b"cell: one thing after the other\n"
    cell = run(client, tmp_path)
    assert (cell.error, dict(cell.seen)) == (None, GOOD)
    assert cell.packages == [["npm", "zod", "3.25.0"]]
    assert client.api.there == {}
    assert "one thing after the other" in (tmp_path / "0.0.83-plain.log").read_text()


@pytest.mark.parametrize("user", ["plain", "root"])
def test_a_container_has_no_more_rights_than_a_sandbox_needs(tmp_path: Path, user: str) -> None:
    client = FakeClient()
    made: list[dict[str, Any]] = []
    client.api.started = lambda identity: made.append(client.api.there[identity])
    run(client, tmp_path, user)
    (settings,) = made
    host = settings["host_config"]
    assert host["cap_drop"] == ["ALL"]
    assert "no-new-privileges" in host["security_opt"]
    assert any(option.startswith("seccomp={") for option in host["security_opt"])
    assert host["read_only"] is True
    assert host["network_mode"] == "none"
    assert "privileged" not in host
    assert (settings["user"] == "root") == ("cap_add" in host) == (user == "root")


@pytest.mark.parametrize("error", [ReadTimeout(), Unreachable()])
def test_a_cell_that_takes_too_long_is_ended_and_its_log_kept(
    tmp_path: Path, error: Exception
) -> None:
    client = FakeClient()

    def never(_identity: str, timeout: float) -> int:
        assert timeout == 5
        raise error

    client.api.waited = never
    client.api.output, client.api.errors = b"", b"cell: race.first-request\n"
    cell = run(client, tmp_path)
    assert "no end within 5 seconds" in str(cell.error)
    assert client.api.there == {}
    assert "race.first-request" in (tmp_path / "0.0.83-plain.log").read_text()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (refusal("operation not permitted: seccomp"), "operation not permitted"),
        (refusal("no space left on device"), "no space left"),
        (ImageNotFound("no such image"), "no such image"),
    ],
)
def test_a_container_that_cannot_start_is_a_cell_that_did_not_run(
    tmp_path: Path, error: Exception, said: str
) -> None:
    client = FakeClient()

    def refuse(_identity: str) -> None:
        raise error

    client.api.started = refuse
    cell = run(client, tmp_path)
    assert said in str(cell.error)
    assert client.api.there == {}


@pytest.mark.parametrize("output", [b"", b"not json", b"[]", b'{"seen": {}}', b"null"])
def test_a_cell_that_breaks_off_says_its_last_words(tmp_path: Path, output: bytes) -> None:
    client = FakeClient()
    client.api.waited = lambda *_: 1
    client.api.output, client.api.errors = output, b"Traceback\nValueError: what went wrong\n"
    cell = run(client, tmp_path)
    assert "ValueError: what went wrong" in str(cell.error)
    assert "0.0.83-plain.log" in str(cell.error)


def test_whatever_runs_when_the_session_ends_is_removed_and_nothing_starts_afterwards(
    tmp_path: Path,
) -> None:
    client = FakeClient()
    runs, gone = threading.Event(), threading.Event()

    def until_removed(_identity: str, _timeout: float) -> int:
        runs.set()
        gone.wait(10)
        return 137

    client.api.waited = until_removed
    runner = Engine(client, limit=5, logs=tmp_path)  # type: ignore[arg-type]
    thread = threading.Thread(target=runner.run, args=("image", Try("0.0.83", "plain"), "sandbox"))
    with runner.session():
        thread.start()
        assert runs.wait(10)
    assert client.api.there == {}
    gone.set()
    thread.join(10)
    assert "the matrix has ended" in str(runner.run("image", Try("0.0.82", "plain"), "none").error)
    assert client.api.there == {}


def test_only_what_dead_matrices_of_this_machine_left_is_removed() -> None:
    client = FakeClient()
    mine = owner.name()
    dead = f"{platform.node()}/{os.getpid()}/an earlier process"
    elsewhere = f"another-machine/{os.getpid()}/{process.identity(os.getpid())}"
    for identity, name in (("a", mine), ("b", dead), ("c", elsewhere), ("d", "no owner's name")):
        client.api.there[identity] = {"labels": {owner.LABEL: name}}
    client.api.there["users"] = {"labels": {"homeroom.matrix": "true"}}
    assert engine.remove_leftovers(client) == 1  # type: ignore[arg-type]
    assert client.api.there.keys() == {"a", "c", "d", "users"}


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (DockerException("FileNotFoundError(2, 'No such file or directory')"), "start dockerd"),
        (DockerException("PermissionError(13, 'Permission denied')"), "let your user in"),
        (Unreachable("refused"), "start dockerd"),
    ],
)
def test_an_engine_that_cannot_be_used_is_explained(
    monkeypatch: pytest.MonkeyPatch, error: Exception, hint: str
) -> None:
    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(docker, "from_env", fail)
    with pytest.raises(ToolError, match="no container engine answers") as caught:
        engine.connect()
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize(
    "machine",
    [
        {"OSType": "linux", "Architecture": "riscv64"},
        {"OSType": "windows", "Architecture": os.uname().machine},
        {},
    ],
)
def test_an_engine_of_another_architecture_is_refused(
    monkeypatch: pytest.MonkeyPatch, machine: dict[str, str]
) -> None:
    client = FakeClient()
    client.machine = machine
    monkeypatch.setattr(docker, "from_env", lambda **_: client)
    with pytest.raises(ToolError, match="the engine runs"):
        engine.connect()
