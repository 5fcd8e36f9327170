"""Engines and images that do not fit are refused, with what to do; no engine is needed."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.errors import DockerException, ImageNotFound
from requests.exceptions import ConnectionError as Unreachable

from homeroom.errors import ConfigError, SandboxError, ToolError
from homeroom.home import Instance, new_run_id
from homeroom.paths import locate
from homeroom.session import container, engine, housing
from tests.conftest import PrivateHome
from tests.matrix.fake_engine import refusal
from tests.support.cli import run_homeroom
from tests.support.runs import leftovers

UNAME = os.uname()
FITTING: dict[str, Any] = {
    "OSType": "linux",
    "KernelVersion": UNAME.release,
    "SecurityOptions": ["name=seccomp,profile=default"],
}
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(UNAME.machine, UNAME.machine)


class Engine:
    """An engine that says of itself what a test says."""

    def __init__(self, *, architecture: str = ARCHITECTURE, **machine: Any) -> None:
        self.machine = FITTING | machine
        self.components = [{"Name": "Engine"}]
        self.architecture = architecture
        self.images = self

    def info(self) -> dict[str, Any]:
        return self.machine

    def version(self) -> dict[str, Any]:
        return {"Components": self.components}

    def get(self, name: str) -> Any:
        if name != "there":
            raise ImageNotFound(name)
        attributes = {"Architecture": self.architecture}
        return type("Image", (), {"id": "sha256:there", "attrs": attributes})()


def refused(found: Any, image: str = "there") -> ToolError:
    with pytest.raises(ToolError) as caught:
        engine.require(found, image)
    assert caught.value.hint
    return caught.value


def test_an_engine_of_this_kernel_is_taken() -> None:
    found: Any = Engine()
    assert engine.require(found, "there") == "sha256:there"
    assert not engine.needs_no_apparmor(found)
    found = Engine(SecurityOptions=["name=apparmor", "name=seccomp,profile=default"])
    assert engine.require(found, "there") == "sha256:there"
    assert engine.needs_no_apparmor(found)


def test_an_engine_in_a_virtual_machine_is_refused() -> None:
    said = refused(Engine(KernelVersion="6.6.1-linuxkit"))
    assert "not run on this machine's own kernel but on linux 6.6.1-linuxkit" in said.message
    assert "not run on this machine" in refused(Engine(OSType="windows")).message


@pytest.mark.parametrize("name", ["rootless", "userns"])
def test_an_engine_that_maps_users_is_refused(name: str) -> None:
    options = ["name=seccomp,profile=default", f"name={name}"]
    assert f"maps users ({name})" in refused(Engine(SecurityOptions=options)).message


def test_podman_is_refused() -> None:
    found = Engine()
    found.components = [{"Name": "Podman Engine"}]
    assert "the engine is Podman" in refused(found).message


def test_a_missing_image_is_told_with_the_command_that_builds_it() -> None:
    said = refused(Engine(), "not-there:1")
    assert said.message == "the image not-there:1 is not there"
    assert said.hint is not None
    command, _, path = said.hint.partition(" - < ")
    assert command == "docker build -t not-there:1"
    assert "bubblewrap" in Path(path).read_text()


def test_an_image_for_another_machine_is_refused() -> None:
    assert "is for s390x" in refused(Engine(architecture="s390x")).message


@pytest.mark.parametrize(
    "place", ["tcp://10.0.0.5:2375", "ssh://me:secret@far.example", "npipe:////./pipe", "unix://x"]
)
def test_an_engine_on_another_machine_is_refused_before_it_is_asked(
    ready_home: PrivateHome, workspace: Path, place: str
) -> None:
    env = ready_home.env | {"DOCKER_HOST": place}
    argv = ("start", "--session", "container", "--no-credentials")
    for more in ((), ("--detach",)):
        done = run_homeroom(*argv, *more, env=env, cwd=workspace)
        assert (done.returncode, done.stdout) == (69, "")
        assert f"DOCKER_HOST is a {place.partition(':')[0]}:// address" in done.stderr
        assert "unset it" in done.stderr
        assert "secret" not in done.stderr
    assert leftovers(ready_home.root) == []


def test_no_engine_is_told_before_anything_is_made(
    ready_home: PrivateHome, workspace: Path, tmp_path: Path
) -> None:
    env = ready_home.env | {"DOCKER_HOST": f"unix://{tmp_path}/none"}
    for more in ((), ("--detach",)):
        argv = ("start", "--session", "container", "--no-credentials", *more)
        done = run_homeroom(*argv, env=env, cwd=workspace)
        assert (done.returncode, done.stdout) == (69, "")
        assert "no container engine answers: No such file or directory\n" in done.stderr
        assert "hint: start it" in done.stderr
    assert list((ready_home.root / "state").glob("*/*")) == []


def test_a_dry_run_without_an_engine_is_not_ready(
    ready_home: PrivateHome, workspace: Path, tmp_path: Path
) -> None:
    env = ready_home.env | {"DOCKER_HOST": f"unix://{tmp_path}/none"}
    argv = ("dry-run", "--session", "container")
    done = run_homeroom(*argv, env=env, cwd=workspace)
    assert done.returncode == 0
    said = "no container engine answers: No such file or directory"
    assert f"\nNOT READY: {said}\n  start it" in done.stdout
    document = json.loads(run_homeroom(*argv, "--json", env=env, cwd=workspace).stdout)
    assert document["obstacle"]["message"] == said
    plain = run_homeroom("dry-run", env=env, cwd=workspace)
    assert "NOT READY" not in plain.stdout


def test_an_engine_that_this_user_may_not_use_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def client(**_: Any) -> Any:
        denied = PermissionError(13, "Permission denied")
        raise DockerException("Error while fetching server API version") from denied

    monkeypatch.setattr(docker, "DockerClient", client)
    with (
        pytest.raises(ToolError, match="no container engine answers: Permission denied") as caught,
        engine.connected("unix:///socket"),
    ):
        pytest.fail("it was reached")
    assert caught.value.hint is not None
    assert "as good as root" in caught.value.hint


def test_without_the_sdk_the_command_that_installs_it_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "docker", None)
    with (
        pytest.raises(ToolError, match="needs the Docker SDK") as caught,
        engine.connected("unix:///socket"),
    ):
        pytest.fail("it was reached")
    assert caught.value.hint is not None
    assert "pip install 'homeroom[container]'" in caught.value.hint


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (refusal("bind source path does not exist: /x"), "would not make it: bind source path"),
        (Unreachable("Connection aborted."), "no container engine answers: Connection aborted"),
    ],
)
def test_an_engine_that_fails_in_the_middle_is_told(error: Exception, said: str) -> None:
    with pytest.raises(ToolError, match=said), engine.answering("make it"):
        raise error


def test_only_what_the_policy_opens_is_mounted_and_each_thing_once() -> None:
    instance = Instance("run_" + "0" * 32, Path("/s/instances/run"), Path("/t/000"))
    writable, readable = housing.mounts(
        instance,
        (instance.home, instance.tmp, Path("/w"), Path("/w/.git"), Path("/repo/.git")),
        (Path("/w"), instance.runtime, instance.control, Path("/tools"), Path("/tools/node")),
    )
    assert writable == (instance.home, instance.temp, Path("/w"), Path("/repo/.git"))
    assert readable == (instance.root, Path("/tools"))


@pytest.mark.parametrize(
    ("host", "chosen"),
    [
        ("api.example.com", "bridge"),
        ("10.0.0.5:3128", "bridge"),
        ("localhost.example.com", "bridge"),
        ("127.0.0.1:8080", "host"),
        ("localhost", "host"),
        ("[::1]:3128", "host"),
    ],
)
def test_this_machines_network_is_shared_only_for_its_loopback_servers(
    host: str, chosen: str
) -> None:
    assert housing.network(["example.org", host]) == chosen


@pytest.mark.parametrize(
    "line", ['memory = "lots"', 'memory = "0g"', 'image = " "', "processes = 1", 'imgae = "x"']
)
def test_a_bad_limit_is_refused(ready_home: PrivateHome, workspace: Path, line: str) -> None:
    path = locate(ready_home.env).config_file
    path.parent.mkdir(parents=True)
    path.write_text(f"[container]\n{line}\n")
    done = run_homeroom("dry-run", "--session", "container", env=ready_home.env, cwd=workspace)
    assert done.returncode == ConfigError.exit_code
    assert f"container.{line.partition(' ')[0]}" in done.stderr


def test_a_plan_shows_the_container_and_asks_no_engine(
    ready_home: PrivateHome, workspace: Path, tmp_path: Path
) -> None:
    env = ready_home.env | {"DOCKER_HOST": f"unix://{tmp_path}/none"}
    done = run_homeroom("dry-run", "--session", "container", env=env, cwd=workspace)
    assert done.returncode == 0, done.stderr
    assert f"image   homeroom-base:bookworm of unix://{tmp_path}/none" in done.stdout
    assert f"  write   {workspace}\n" in done.stdout


def test_the_engines_socket_never_gets_into_a_room(
    ready_home: PrivateHome, workspace: Path
) -> None:
    env = ready_home.env | {"DOCKER_HOST": f"unix://{workspace}/run/docker.sock"}
    done = run_homeroom("dry-run", "--session", "container", env=env, cwd=workspace)
    assert (done.returncode, done.stdout) == (66, "")
    assert f"socket {workspace}/run/docker.sock lies in {workspace}" in done.stderr


def test_a_sweep_asks_the_engine_only_for_dead_runs_whose_rooms_are_gone(
    private_home: PrivateHome, tmp_path: Path
) -> None:
    paths = locate(private_home.env)
    assert container.sweep(paths) == []
    notes = paths.state / "containers"
    for path in (paths.state, paths.instances, notes):
        path.mkdir(mode=0o700, parents=True)
    dead, still_there = new_run_id(), new_run_id()
    for name in (dead, still_there, "not-a-run"):
        (notes / name).write_text(f"unix://{tmp_path}/none")
    (paths.instances / still_there).mkdir()
    assert [one.verdict for one in container.sweep(paths, dry_run=True)] == ["would remove"]
    assert container.sweep(paths, only=still_there) == []
    done = run_homeroom("sweep", "--json", env=private_home.env, cwd=tmp_path)
    assert done.returncode == 1
    [entry] = [one for one in json.loads(done.stdout)["entries"] if one["verdict"] == "failed"]
    assert entry["name"] == dead
    assert "its container may be left: no container engine answers" in entry["reason"]
    assert {path.name for path in notes.iterdir()} == {dead, still_there, "not-a-run"}


def test_a_directory_that_was_swapped_for_a_link_is_not_mounted(tmp_path: Path) -> None:
    place, secret = tmp_path / "place", tmp_path / "secret"
    for path in (place, secret):
        path.mkdir()
    wanted = housing.Housing("unix:///x", "there", (place,), (), "bridge", "1g", 64)
    meant = housing.identities(wanted)
    housing.verify(meant, os.getpid())
    place.rename(tmp_path / "moved")
    place.symlink_to(secret)
    with pytest.raises(SandboxError, match="has become another file"):
        housing.verify(meant, os.getpid())
    with pytest.raises(SandboxError, match="symlink"):
        housing.identities(wanted)
    place.unlink()
    for known in (lambda: housing.identities(wanted), lambda: housing.verify(meant, os.getpid())):
        with pytest.raises(SandboxError, match="No such file or directory"):
            known()
