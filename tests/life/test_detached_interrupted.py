"""Ctrl-C while a detached run starts: it is ended, or it was named; never a run nobody knows of."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.life.conftest import Life, wait_until
from tests.support.cli import homeroom_argv

# Says that it is there, and comes up when it is told to.
SLOW = """\
#!/bin/sh
: >'{here}'
until [ -e '{go}' ]; do sleep 0.02; done
exec '{real}' "$@"
"""
DETACH = ("--detach", "--name", "hasty")


def starting(life: Life, path: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        homeroom_argv("start", "--demo-server", life.url, *DETACH),
        env=life.home.env | {"PATH": path},
        cwd=life.workspace,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A terminal sends its signals to the whole group, tmux's client included.
        process_group=0,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_before_the_agent_has_started_leaves_nothing(
    life: Life, tmp_path: Path, number: signal.Signals
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    here, go, real = tmp_path / "here", tmp_path / "go", shutil.which("bwrap")
    (programs / "bwrap").write_text(SLOW.format(here=here, go=go, real=real))
    (programs / "bwrap").chmod(0o755)
    with starting(life, f"{programs}{os.pathsep}{life.home.env['PATH']}") as process:
        wait_until(here.exists)
        os.killpg(process.pid, number)
        out, said = process.communicate(timeout=60)
    assert (process.returncode, out) == (128 + number, "")
    assert f"error: ended by {number.name}; nothing was left behind" in said
    assert life.json("list")["runs"] == []
    assert life.tmux("list-sessions").stdout == ""
    assert [one["state"] for one in life.json("list", "--all")["runs"]] == ["failed"]


@pytest.mark.parametrize("what", ["lock", "order", "record"])
def test_at_whatever_moment_it_comes_no_run_stays_that_was_not_named(life: Life, what: str) -> None:
    with starting(life, life.home.env["PATH"]) as process:
        pattern = {"lock": "*.lock", "order": "*.order", "record": "*.json"}[what]
        wait_until(lambda: list((life.state / "runs").glob(pattern)))
        os.killpg(process.pid, signal.SIGINT)
        out, said = process.communicate(timeout=60)
    alive = [row["run_id"] for row in life.json("list")["runs"]]
    if process.returncode == 0:
        assert out.split() == alive
        assert "`homeroom stop hasty` ends it" in said
    else:
        assert (process.returncode, out, alive) == (130, "", []), said
        assert "error: ended by SIGINT" in said
        assert list((life.state / "runs").glob("*.order")) == []
        known = {path.stem for path in (life.state / "runs").glob("*.json")}
        assert {path.stem for path in (life.state / "logs").iterdir()} <= known
