"""Rooms in containers of a real engine: what works as for any run, and what they keep shut."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import docker
import pytest

from homeroom.session import engine
from homeroom.toolchain.store import Toolchain
from tests.container.conftest import Contained
from tests.e2e.session import PROMPT, SHELL_PROMPT, Session
from tests.e2e.tools import BYPASS, attempts, outcomes
from tests.life.conftest import ANSWER, wait_until
from tests.support import patched
from tests.support.cli import homeroom_argv, run_homeroom
from tests.support.model_server import ModelServer, calls_then_says, model_server
from tests.support.runs import Journal, environment, processes
from tests.support.terminal import Terminal

pytestmark = [pytest.mark.docker, pytest.mark.timeout(300)]


def test_one_answer_goes_to_standard_output_and_nothing_else(contained: Contained) -> None:
    done = contained.start("--", "-p", "hi")
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n"), done.stderr
    [row] = contained.json("list", "--all")["runs"]
    assert (row["container"], row["session"], row["exit_status"]) == (True, "foreground", 0)
    assert re.search(r" container +/", contained.do("list", "--all"))
    assert ANSWER in contained.do("transcript", row["run_id"])
    assert ANSWER in contained.do("transcript", row["run_id"], "--export", "md")


def test_what_is_piped_in_arrives_and_the_agents_status_comes_back(
    contained: Contained, life_server: ModelServer
) -> None:
    seen = Journal(life_server)
    argv = ("start", "--session", "container", "--demo-server", contained.url, "--", "-p")
    env, where = contained.home.env, contained.workspace
    done = run_homeroom(*argv, env=env, cwd=where, stdin="asked by a pipe")
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n"), done.stderr
    assert "asked by a pipe" in seen.messages("user")[-1]
    done = contained.start("--", "--no-such-option")
    assert (done.returncode, done.stdout) == (1, "")
    assert "unknown option '--no-such-option'" in done.stderr


def test_the_other_agent_works_as_well(contained: Contained) -> None:
    done = contained.start("codex", "--", "exec", "hi")
    assert done.returncode == 0, done.stderr
    assert ANSWER in done.stdout


def test_a_container_has_what_the_plan_says_and_no_right_more(
    slow: Contained, client: "docker.DockerClient"
) -> None:
    planned = slow.json("dry-run", "--session", "container", "--demo-server", slow.url)["container"]
    run_id = slow.detach("--afk", "hi")
    [found] = slow.containers(client)
    labels = found["Config"]["Labels"]
    assert labels[engine.RUN_LABEL] == run_id
    assert labels[engine.HOME_LABEL] == str(slow.state)
    assert found["Config"]["User"] == f"{os.geteuid()}:{os.getegid()}"
    host = found["HostConfig"]
    assert (host["Privileged"], host["ReadonlyRootfs"], host["CapDrop"]) == (False, True, ["ALL"])
    # Nobody else can map root into a user namespace.
    assert host["CapAdd"] == (["SETFCAP"] if os.geteuid() == 0 else None)
    assert "no-new-privileges" in host["SecurityOpt"]
    [profile] = [each for each in host["SecurityOpt"] if each.startswith("seccomp=")]
    assert json.loads(profile.removeprefix("seccomp=")) == json.loads(
        engine.data("seccomp.json").read_bytes()
    )
    assert (host["Memory"], host["PidsLimit"]) == (8 << 30, 4096)
    # The id of the plan's run is another one.
    other = re.compile(r"run_[0-9a-f]{32}|(?<=/tmp/)[0-9a-f]{12}$")
    mounted = {
        (other.sub("ID", each["Source"]), each["RW"])
        for each in found["Mounts"]
        if not each["Destination"].startswith("/etc/")
    }
    assert mounted == {
        (other.sub("ID", path), access == "writable")
        for access in ("writable", "readable")
        for path in planned[access]
    }
    inside = [each for each in found["Mounts"] if each["Source"] != each["Destination"]]
    assert {each["Destination"] for each in inside} == {"/etc/passwd", "/etc/group"}
    assert "sk-ant-api03" not in json.dumps(found)
    # As the kernel has it: bit 31 is SETFCAP (capabilities(7)), 2 is a filter (seccomp(2)).
    status = Path(f"/proc/{found['State']['Pid']}/status").read_text()
    kept = 1 << 31 if os.geteuid() == 0 else 0
    for line in (f"CapBnd:\t{kept:016x}", "NoNewPrivs:\t1", "Seccomp:\t2"):
        assert line in status


def test_the_agent_finds_its_workspace_and_nothing_else_of_the_machine(
    contained: Contained, toolchain: Toolchain, tmp_path: Path
) -> None:
    (tmp_path / "beside").write_text("of this machine")
    (contained.home.home / "private").write_text("of the user's")
    tries = {
        "workspace": "echo x > made && cat made",
        "git": "git add made && git commit -qm made",
        "own-home": 'echo x > "$HOME/mine"',
        "temp": 'echo x > "$TMPDIR/mine"',
        "who": f'[ "$(id -u)" = {os.geteuid()} ] && whoami && [ "$HOME" = ~ ]',
        "toolchain": f"ls {toolchain.root}",
        "beside": f"cat {tmp_path}/beside",
        "private": f"cat {contained.home.home}/private",
        "canary": 'cat "${HOME%/home}/canary"',
        "engine": "ls /var/run/docker.sock || ls /run/docker.sock",
        "system": "echo x > /usr/bin/mine || echo x > /etc/mine",
        "shared-temp": "echo x > /tmp/mine",
        "change-toolchain": f"echo x > {toolchain.root}/mine",
        "network": "true < /dev/tcp/127.0.0.1/1",
        "hooks": "echo x > .git/hooks/post-commit",
    }
    arguments = {"command": attempts(tries)}
    with model_server(toolchain, calls_then_says("Bash", arguments, ANSWER)) as server:
        seen = Journal(server)
        moved = Contained(contained.home, contained.workspace, server.url)
        done = moved.start("--", "-p", "go", BYPASS)
        assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n"), done.stderr
        found = outcomes(seen.result())
    assert set(found) == set(tries)
    assert {name for name, worked in found.items() if worked} == {
        *("workspace", "git", "own-home", "temp", "who", "toolchain"),
    }
    log = subprocess.check_output(
        ["git", "-C", contained.workspace, "log", "-1", "--format=%s"], text=True
    )
    assert log == "made\n"


@pytest.mark.parametrize(
    ("sabotage", "reason"),
    [
        ("reading is free", "it can read "),
        ("writing is free", "it can write /"),
        ("settings are missing", "before the agent started"),
    ],
)
def test_a_sandbox_that_is_not_shut_is_refused_in_a_container_too(
    contained: Contained, life_server: ModelServer, sabotage: str, reason: str
) -> None:
    seen = Journal(life_server)
    argv = ["start", "--session", "container", "--demo-server", contained.url, "--", "-p", "hi"]
    done = subprocess.run(
        [sys.executable, patched.__file__, "spawn", sabotage, *argv],
        env=contained.home.env,
        cwd=contained.workspace,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (77, ""), done.stderr
    assert reason in done.stderr
    assert seen.requests() == []


def test_an_image_without_what_a_room_needs_is_refused(
    contained: Contained, client: "docker.DockerClient"
) -> None:
    lacking = {"python3": "does not start a run|would not start", "bwrap": "could not be proven"}
    for program, reason in lacking.items():
        name = f"homeroom-test-lacking:{os.getpid()}-{program}"
        base = "FROM homeroom-base:bookworm\n"
        _build(client, name, f"{base}RUN rm /usr/bin/{program}*\n")
        try:
            contained.config(f'[container]\nimage = "{name}"\n')
            done = contained.start("--", "-p", "hi")
            assert done.returncode in (69, 77), done.stderr
            assert re.search(reason, done.stderr)
        finally:
            client.images.remove(name, force=True)
    contained.config('[container]\nimage = "homeroom-test-lacking:never-built"\n')
    done = contained.start("--detach")
    assert done.returncode == 69
    assert "the image homeroom-test-lacking:never-built is not there" in done.stderr
    containerfile = re.search(r"docker build -t \S+ - < (\S+)", done.stderr)
    assert containerfile
    assert Path(containerfile[1]).read_text().startswith("# The base image")


def test_what_an_image_sets_does_not_reach_the_run(
    slow: Contained, client: "docker.DockerClient"
) -> None:
    name = f"homeroom-test-meddling:{os.getpid()}"
    _build(client, name, "FROM homeroom-base:bookworm\nENV INTRUDER=1 NODE_OPTIONS=--no-such\n")
    try:
        slow.config(f'[container]\nimage = "{name}"\n')
        run_id = slow.detach("--afk", "hi")
        found = [environment(one) for one in processes(slow.home.root)]
        inside = [each for each in found if each.get("HOMEROOM_RUN") == run_id]
        assert len(inside) > 3
        assert not any("INTRUDER" in each or "NODE_OPTIONS" in each for each in inside)
        slow.do("stop", run_id)
    finally:
        client.images.remove(name, force=True)


def _build(client: "docker.DockerClient", name: str, text: str) -> None:
    import io

    client.images.build(fileobj=io.BytesIO(text.encode()), tag=name, network_mode="none", rm=True)


def test_without_a_server_of_this_machine_the_room_has_the_engines_network(
    contained: Contained,
) -> None:
    options = ("--session", "container", "--no-credentials")
    planned = contained.json("dry-run", *options)["container"]
    assert planned["network"] == "bridge"
    planned = contained.json("dry-run", "--session", "container", "--demo")["container"]
    assert planned["network"] == "host"
    done = contained.run("start", *options, "--", "-p", "hi")
    assert (done.returncode, done.stdout) == (1, "Not logged in · Please run /login\n"), done.stderr


@pytest.fixture
def session(contained: Contained) -> Any:
    with Terminal() as terminal:
        yield Session(terminal, contained.home, contained.workspace)


def test_a_terminal_is_the_agents_own(session: Session, contained: Contained) -> None:
    session.start_shell()
    argv = homeroom_argv("start", "--session", "container", "--demo-server", contained.url)
    session.enter(f"clear; {shlex.join(argv)}")
    session.ask()
    session.terminal.resize(72, 24)
    session.terminal.wait_for(re.compile(r"^─{72}$", re.MULTILINE))
    session.suspend()
    session.enter("clear; fg")
    session.ask()
    session.leave()
    session.terminal.wait_for(SHELL_PROMPT)
    session.end_shell()


def test_a_run_behind_the_shell_is_shown_and_does_not_hold_the_terminal(
    session: Session, slow: Contained, life_slow_server: ModelServer
) -> None:
    seen = Journal(life_slow_server)
    session.start_shell()
    argv = homeroom_argv("start", "--session", "container", "--demo-server", slow.url)
    session.enter(f"clear; {shlex.join([*argv, '--', '-p', 'hi'])} &")
    wait_until(seen.requests)
    inside = session.sandboxed()
    assert len(inside) > 2
    assert not any(session.is_terminal_held_by(one) for one in inside)
    session.stop_all()
    session.enter("wait; clear")
    session.end_shell()


def test_a_detached_run_is_shown_spoken_to_and_stopped(contained: Contained) -> None:
    run_id = contained.detach("--name", "boxed")
    contained.wait_prompt(run_id)
    [row] = contained.json("list")["runs"]
    assert (row["session"], row["container"]) == ("tmux", True)
    assert "tmux+container" in contained.do("list")
    contained.do("send", "boxed", "how is it in there")
    wait_until(lambda: ANSWER in contained.run("transcript", "boxed").stdout)
    contained.do("interrupt", "boxed")
    with Terminal() as terminal:
        argv = homeroom_argv("attach", "boxed")
        terminal.start(argv, env=contained.home.env, cwd=contained.workspace)
        terminal.wait_for(PROMPT)
    assert contained.json("stop", "boxed")["runs"][0]["how"] == "ended"
    assert "how is it in there" in contained.do("logs", "boxed")
    assert ANSWER in contained.do("transcript", "boxed")
    assert contained.left() == []


def test_a_run_in_a_worktree_commits_and_its_limit_ends_it(
    contained: Contained, slow: Contained
) -> None:
    done = contained.start("--worktree", "feature", "--", "-p", "make the file", BYPASS)
    assert done.returncode == 0, done.stderr
    assert "was kept" in done.stderr
    assert (contained.workspace.parent / "project.worktrees").is_dir()
    run_id = slow.detach("--timeout", "8", "--afk", "hi")
    assert slow.wait_over(run_id)["exit_status"] == 124
