"""A detached run: it outlives its terminal, is listed, spoken to, and ended."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.life.conftest import ANSWER, Life, wait_until
from tests.support.cli import homeroom_argv
from tests.support.runs import command_line, environment, processes
from tests.support.terminal import Terminal


def test_a_run_outlives_the_terminal_and_the_group_that_started_it(life: Life) -> None:
    with Terminal() as terminal:
        argv = homeroom_argv("start", "--demo-server", life.url, "--detach", "--name", "alone")
        terminal.start(argv, env=life.home.env, cwd=life.workspace)
        assert terminal.wait_exit() == 0
        group = terminal.pid()
    with pytest.raises(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
    [row] = life.json("list")["runs"]
    assert (row["name"], row["state"], row["session"]) == ("alone", "running", "tmux")
    assert row["workspace"] == str(life.workspace)
    assert row["branch"] == "main"
    assert row["last_activity"] >= row["created"]
    table = life.do("list")
    assert re.search(r"^alone +running +claude .* tmux +.*/project \(main\)$", table, re.MULTILINE)
    assert life.json("stop", "alone")["runs"][0]["how"] == "ended"
    assert life.json("list")["runs"] == []
    assert life.do("list") == "no runs are alive\n"
    [row] = life.json("list", "--all")["runs"]
    assert row["state"] == "ended"
    # A second stop finds nothing to do.
    assert life.json("stop", "alone")["runs"][0]["how"] == "was over"


def test_it_can_be_spoken_to_attached_to_and_followed(life: Life) -> None:
    run_id = life.detach("--name", "talker")
    life.wait_prompt(run_id)
    logs = life.popen("logs", "-f", "talker")
    life.do("send", "talker", "say: 'hello' \"you\" $HOME; #{pid};")
    wait_until(lambda: ANSWER in life.run("transcript", "talker").stdout)
    # What tmux, a shell or a format would have eaten has arrived.
    assert "say: 'hello' \"you\" $HOME; #{pid};" in life.do("transcript", "talker")
    with Terminal() as terminal:
        env = life.home.env | {"TMUX": "/nonexistent,1,0"}
        argv = homeroom_argv("attach", "talker")
        terminal.start(argv, env=env, cwd=life.workspace, size=(120, 40))
        terminal.wait_for(ANSWER)
        terminal.write("and again")
        terminal.send("Enter")
        wait_until(lambda: life.do("transcript", "talker").count(ANSWER) == 2)
        # C-b d
        terminal.send("C-b")
        terminal.send("d")
        assert terminal.wait_exit() == 0
    assert [row["state"] for row in life.json("list")["runs"]] == ["running"]
    done = life.run("attach", "talker")
    assert done.returncode == 2
    assert "attach needs a terminal" in done.stderr
    assert logs.poll() is None
    life.do("stop", run_id[:12])
    shown, _ = logs.communicate(timeout=30)
    assert logs.returncode == 0
    # As the terminal got it, which moves its cursor over gaps.
    assert b"hello" in shown
    assert "hello" in life.do("logs", "talker")
    assert stat.S_IMODE((life.state / "logs" / f"{run_id}.log").stat().st_mode) == 0o600
    # And afterwards from the archive.
    assert life.do("transcript", "talker").count(ANSWER) == 2
    done = life.run("send", "talker", "too late")
    assert done.returncode == 2
    assert "no live run is called 'talker'" in done.stderr


def test_an_interrupt_stops_the_turn_and_not_the_run(slow: Life) -> None:
    run_id = slow.detach()
    slow.wait_prompt(run_id)
    slow.do("send", run_id, "go on for ever")
    screen = ("capture-pane", "-p", "-t", f"={run_id}:")
    wait_until(lambda: "esc to interrupt" in slow.tmux(*screen).stdout)
    slow.do("interrupt", run_id)
    wait_until(lambda: "esc to interrupt" not in slow.tmux(*screen).stdout)
    assert slow.record(run_id)["state"] == "running"


def test_no_secret_is_in_a_command_line_or_in_the_servers_environment(life: Life) -> None:
    """And what tells the session its environment is private, and gone once it is read."""
    secret = "s3cret-value-of-the-environment"
    env = life.home.env | {"MY_SECRET": secret}
    done = life.start("--detach", "--env", "MY_SECRET", env=env)
    assert done.returncode == 0, done.stderr
    for process in psutil.process_iter():
        try:
            assert secret not in " ".join(command_line(process))
        except psutil.Error:
            continue
    shown = life.tmux("show-environment", "-g").stdout
    assert "HOME=" in shown
    assert secret not in shown
    run_id = done.stdout.strip()
    assert secret not in life.tmux("show-environment", "-t", f"={run_id}").stdout
    assert list((life.state / "runs").glob("*.order")) == []
    for path in (life.state / "runs").iterdir():
        assert secret.encode() not in path.read_bytes()


def test_the_users_own_tmux_is_not_touched(life: Life, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir(mode=0o700)
    own = ["tmux", "-S", str(theirs / "socket"), "-f", "/dev/null"]
    subprocess.run([*own, "new-session", "-d", "-s", "mine", "sleep 600"], check=True)
    try:
        before = subprocess.check_output([*own, "show-options", "-g"])
        env = life.home.env | {"TMUX": f"{theirs}/socket,1,0", "TMUX_TMPDIR": str(theirs)}
        done = life.start("--detach", env=env)
        assert done.returncode == 0, done.stderr
        assert subprocess.check_output([*own, "list-sessions", "-F", "#S"]) == b"mine\n"
        assert subprocess.check_output([*own, "show-options", "-g"]) == before
        inside = [
            found
            for one in processes(life.home.root)
            if "HOMEROOM_RUN" in (found := environment(one))
        ]
        assert inside
        assert not any("TMUX" in found for found in inside)
    finally:
        subprocess.run([*own, "kill-server"], check=False)


def test_modules_of_the_workspace_are_not_run_outside_of_the_sandbox(life: Life) -> None:
    """``python -m`` would look for them there first."""
    trap = f"import os; os.mkdir({str(life.home.root / 'trapped')!r})\n"
    for name in ("json.py", "runpy.py", "homeroom.py", "sitecustomize.py"):
        (life.workspace / name).write_text(trap)
    argv = (sys.executable, "-P", "-m", "homeroom", "start", "--demo-server", life.url)
    done = subprocess.run(
        [*argv, "--detach", "--afk", "hi"],
        env=life.home.env,
        cwd=life.workspace,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert life.wait_over(done.stdout.strip())["exit_status"] == 0
    assert not (life.home.root / "trapped").exists()


def test_an_unattended_run_ends_by_itself_and_keeps_what_was_said(life: Life) -> None:
    run_id = life.detach("--afk", "hi", "--name", "worker")
    found = life.wait_over(run_id)
    assert (found["state"], found["exit_status"]) == ("ended", 0)
    assert ANSWER in life.do("transcript", "worker")
    assert ANSWER in life.do("logs", "worker")
    [row] = life.json("list", "--all")["runs"]
    assert row["exit_status"] == 0
    assert re.search(r"^worker +ended → 0 ", life.do("list", "--all"), re.MULTILINE)


@pytest.mark.parametrize("option", ["--timeout", "--max-idle"])
def test_a_limit_ends_a_run_with_124(slow: Life, option: str) -> None:
    run_id = slow.detach(option, "2s", "--afk", "hi")
    found = slow.wait_over(run_id)
    assert (found["state"], found["exit_status"]) == ("ended", 124)


def test_watching_ends_with_an_interrupt(life: Life) -> None:
    watching = life.popen("list", "--watch")
    assert watching.stdout
    assert watching.stdout.readline() == b"no runs are alive\n"
    watching.send_signal(signal.SIGINT)
    _, said = watching.communicate(timeout=20)
    assert watching.returncode == 130
    assert said == b""


def test_what_is_wrong_is_said_before_anything_is_held(life: Life, tmp_path: Path) -> None:
    done = life.start("--detach", "-C", tmp_path / "missing")
    assert (done.returncode, done.stdout) == (66, "")
    assert "No such file or directory" in done.stderr
    without = {n: v for n, v in life.home.env.items() if n != "HOMEROOM_TOOLCHAIN"}
    done = life.start("--detach", env=without)
    assert done.returncode == 69
    assert "homeroom setup" in done.stderr
    assert not (life.home.root / "tmp" / "tmux").exists()


def test_a_refused_sandbox_is_told_with_its_own_exit_code(life: Life, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    bwrap = programs / "bwrap"
    bwrap.write_text("#!/bin/sh\necho 'bwrap: no room' >&2\nexit 1\n")
    bwrap.chmod(0o755)
    env = life.home.env | {"PATH": f"{programs}{os.pathsep}{life.home.env['PATH']}"}
    done = life.start("--detach", "--name", "refused", env=env)
    assert (done.returncode, done.stdout) == (77, "")
    assert "could not be proven" in done.stderr
    assert "hint: homeroom logs run_" in done.stderr
    [row] = life.json("list", "--all")["runs"]
    assert (row["state"], row["exit_status"]) == ("failed", 77)
    assert "bwrap: no room" in life.do("logs", "refused")


def test_a_name_is_given_to_one_living_run(slow: Life) -> None:
    first = slow.detach("--name", "twin")
    done = slow.start("--detach", "--name", "twin")
    assert done.returncode == 2
    assert f"a live run is called 'twin' already: {first[:12]}" in done.stderr
    done = slow.start("--name", "twin", "--", "-p", "hi")
    assert done.returncode == 2
    slow.do("stop", "twin")
    # A dead run's name is free again, and then means the living one.
    second = slow.detach("--name", "twin")
    assert slow.json("stop", "twin")["runs"][0]["run_id"] == second


def test_runs_are_found_by_what_names_one(life: Life) -> None:
    runs = life.state / "runs"
    runs.mkdir(mode=0o700, parents=True)
    life.state.chmod(0o700)
    ids = [f"run_abcd{number}".ljust(36, "0") for number in ("a1", "a2")]
    for run_id, name in zip(ids, ("one", "two"), strict=True):
        document = {
            "run_id": run_id,
            "provider": "claude",
            "workspace": str(life.workspace),
            "state": "ended",
            "created": 1.0,
            "ended": 2.0,
            "supervisor": 1,
            "name": name,
        }
        (runs / f"{run_id}.json").write_text(json.dumps(document))
    assert life.json("stop", "abcda1", "two")["runs"][1]["how"] == "was over"
    for word, said in (
        ("abcd", "names several runs: run_abcda100, run_abcda200"),
        ("abc", "is too short to name a run: give 4 digits"),
        ("nobody", "no run is called 'nobody'"),
        ("", "is too short to name a run"),
    ):
        done = life.run("stop", word)
        assert done.returncode == 2
        assert said in done.stderr
    (runs / f"run_{'b' * 32}.json").write_text('{"run_id": "half')
    newer = json.loads((runs / f"{ids[0]}.json").read_text()) | {"schema": 2}
    (runs / f"run_{'c' * 32}.json").write_text(json.dumps(newer))
    done = life.run("list", "--all", "--json")
    assert done.returncode == 0
    assert len(json.loads(done.stdout)["runs"]) == 2
    assert f"run_{'b' * 32}.json is damaged" in done.stderr
    assert f"run_{'c' * 32}.json is damaged or of another version" in done.stderr
    assert life.json("prune", "--older-than", "1d", "--dry-run")["runs"] != []
    for path in runs.iterdir():
        path.unlink()
