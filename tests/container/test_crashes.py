"""Whatever dies of a run in a container: nothing of it is left, and nobody else's is touched."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import docker
import pytest

from homeroom.home import new_run_id
from homeroom.session import engine
from tests.container.conftest import Contained
from tests.life.conftest import wait_until
from tests.support import patched
from tests.support.runs import environment, is_gone, processes

pytestmark = [pytest.mark.docker, pytest.mark.timeout(300)]
DEAD = ("ended", "failed", "crashed")


@pytest.mark.parametrize(("how", "status"), [("removed", 137), ("stopped", 143)])
def test_a_container_that_is_taken_away_ends_its_run_at_once(
    slow: Contained, client: "docker.DockerClient", how: str, status: int
) -> None:
    run_id = slow.detach("--afk", "hi")
    [found] = slow.containers(client)
    wait_until(lambda: slow.run("transcript", run_id).returncode == 0)
    if how == "removed":
        client.api.remove_container(found["Id"], force=True)
    else:
        client.api.stop(found["Id"])
    assert slow.wait_over(run_id)["exit_status"] == status
    assert slow.left() == []
    assert "hi" in slow.do("transcript", run_id)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_for_homeroom_ends_the_run_and_its_container(
    slow: Contained, client: "docker.DockerClient", number: signal.Signals
) -> None:
    argv = ("start", "--session", "container", "--demo-server", slow.url, "--", "-p", "hi")
    with slow.popen(*argv) as supervisor:
        wait_until(lambda: slow.containers(client))
        supervisor.send_signal(number)
        supervisor.communicate(timeout=60)
    assert supervisor.returncode == 128 + number
    assert slow.containers(client) == []
    assert slow.left() == []


def test_a_sweep_ends_what_a_killed_supervisor_left_and_spares_the_one_beside_it(
    slow: Contained, client: "docker.DockerClient"
) -> None:
    dead, alive = slow.detach("--afk", "hi"), slow.detach("--afk", "hi")
    inside = [one for one in processes(slow.home.root) if _run_of(environment(one)) == dead]
    supervisor = slow.supervisor(dead)
    supervisor.kill()
    wait_until(lambda: is_gone(supervisor))
    assert len(slow.containers(client)) == 2
    assert {one["state"] for one in slow.json("list")["runs"]} == {"running", "crashed"}
    slow.age()
    would = {one["verdict"] for one in slow.json("sweep", "--dry-run")["entries"]}
    assert would == {"would remove", "spared"}
    verdicts = [(one["name"], one["verdict"]) for one in slow.sweep()]
    assert sorted(set(verdicts)) == sorted({(dead, "removed"), (alive, "spared")})
    wait_until(lambda: all(is_gone(one) for one in inside))
    [left] = slow.containers(client)
    assert left["Config"]["Labels"][engine.RUN_LABEL] == alive
    assert slow.record(dead)["state"] == "crashed"
    assert [one["name"] for one in slow.sweep()] == [alive]
    assert slow.record(alive)["state"] == "running"


def _run_of(environ: dict[str, str]) -> str | None:
    return environ.get("HOMEROOM_RUN")


@pytest.mark.parametrize("event", ["SIGKILL", "SIGTERM", "ENOSPC"])
@pytest.mark.parametrize("moment", patched.CONTAINER_STEPS)
def test_whatever_happens_while_a_container_is_made_or_removed_nothing_is_left(
    contained: Contained, client: "docker.DockerClient", tmp_path: Path, moment: str, event: str
) -> None:
    argv = ["start", "--session", "container", "--demo-server", contained.url, "--", "-p", "hi"]
    # Not a pipe: the agent of a killed supervisor would hold it until it is swept.
    said = tmp_path / "said"
    with said.open("wb") as output:
        done = subprocess.run(
            [sys.executable, patched.__file__, moment, event, *argv],
            env=contained.home.env,
            cwd=contained.workspace,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            check=False,
        )
    assert patched.HAPPENED in said.read_text()
    assert done.returncode == {"SIGKILL": -9, "SIGTERM": 143}.get(event, done.returncode)
    assert done.returncode != 0
    if event == "SIGKILL":
        contained.age()
        assert {one["verdict"] for one in contained.sweep()} <= {"removed"}
    notes = contained.state / "containers"
    if event == "ENOSPC" and moment == "container removed":
        assert [one["verdict"] for one in contained.sweep()] in ([], ["removed"])
    assert contained.containers(client) == []
    assert list(notes.iterdir()) == []
    assert contained.left() == []
    assert contained.sweep() == []


def test_stop_removes_what_a_killed_supervisor_left_at_once(
    slow: Contained, client: "docker.DockerClient"
) -> None:
    run_id = slow.detach("--afk", "hi")
    slow.supervisor(run_id).kill()
    assert slow.json("stop", run_id)["runs"][0]["how"] in ("forced", "was over")
    assert slow.containers(client) == []
    assert slow.left() == []


def test_a_container_that_was_made_and_never_started_is_swept(
    contained: Contained, client: "docker.DockerClient"
) -> None:
    """As when the supervisor dies between the two; beside it others that are not ours."""
    contained.do("start", "--session", "container", "--demo-server", contained.url, "--", "-p", "x")
    run_id, other_home = new_run_id(), Path("/somewhere/else")
    labels = {engine.RUN_LABEL: run_id, engine.HOME_LABEL: str(contained.state)}
    foreign = [labels | {engine.HOME_LABEL: str(other_home)}, {"a.label": "of somebody else's"}]
    base = "homeroom-base:bookworm"
    made = client.api.create_container(base, "true", labels=labels)["Id"]
    others = [client.api.create_container(base, "true", labels=each)["Id"] for each in foreign]
    note = contained.state / "containers" / run_id
    note.write_text(engine.address(contained.home.env))
    try:
        assert contained.sweep() == [
            {"name": run_id, "verdict": "removed", "reason": "its container was left"}
        ]
        there = {each["Id"] for each in client.api.containers(all=True)}
        assert made not in there
        assert there >= set(others)
        assert contained.sweep() == []
    finally:
        for each in others:
            client.api.remove_container(each, force=True)


@contextmanager
def relayed(path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Stand between homeroom and the engine, so that the engine can be gone for it alone."""
    target = engine.address(os.environ).removeprefix("unix://")
    listen = f"UNIX-LISTEN:{path},fork,mode=600"
    with subprocess.Popen(["socat", listen, f"UNIX-CONNECT:{target}"]) as relay:
        try:
            wait_until(path.exists)
            yield relay
        finally:
            relay.kill()
            path.unlink(missing_ok=True)


def test_a_run_outlives_its_engine_and_a_later_sweep_removes_the_container(
    slow: Contained, client: "docker.DockerClient", tmp_path: Path
) -> None:
    place = tmp_path / "engine"
    alone = replace(slow, home=slow.home.with_env(DOCKER_HOST=f"unix://{place}"))
    with relayed(place) as relay:
        run_id = alone.detach("--afk", "hi")
        relay.kill()
    agent = [one for one in processes(slow.home.root) if _run_of(environment(one)) == run_id]
    assert agent
    assert all(one.is_running() for one in agent)
    assert alone.record(run_id)["state"] == "running"
    assert alone.json("stop", run_id)["runs"][0]["how"] == "ended"
    assert "a later sweep removes the container" in alone.do("logs", run_id)
    assert slow.left() == []
    wait_until(lambda: all(is_gone(one) for one in agent))
    assert len(slow.containers(client)) == 1
    done = alone.run("sweep", "--json")
    assert done.returncode == 1
    assert "no container engine answers" in done.stdout
    with relayed(place):
        assert [one["verdict"] for one in alone.sweep()] == ["removed"]
    assert slow.containers(client) == []
    assert alone.record(run_id)["state"] in DEAD


def test_an_engine_that_is_gone_when_the_run_would_start_leaves_nothing(
    contained: Contained, client: "docker.DockerClient", tmp_path: Path
) -> None:
    place = tmp_path / "engine"
    env = contained.home.env | {"DOCKER_HOST": f"unix://{place}"}
    argv = ("start", "--session", "container", "--demo-server", contained.url, "--", "-p", "hi")
    done = contained.run(*argv, env=env)
    assert done.returncode == 69
    assert "no container engine answers" in done.stderr
    assert "No such file or directory" in done.stderr
    assert contained.left() == []
    assert contained.containers(client) == []
