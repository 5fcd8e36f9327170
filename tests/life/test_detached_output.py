"""A detached run whose id nobody could be told: it runs, and that is what is said."""

import json
import os
import subprocess

from tests.life.conftest import Life
from tests.support.cli import homeroom_argv


def start_into(life: Life, stdout: int) -> tuple[int, str]:
    done = subprocess.run(
        homeroom_argv("start", "--demo-server", life.url, "--detach", "--name", "untold"),
        env=life.home.env,
        cwd=life.workspace,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stderr


def assert_it_runs_and_is_ended_as_was_said(life: Life, stderr: str) -> str:
    [row] = life.json("list")["runs"]
    assert row["state"] == "running"
    assert "`homeroom stop untold` ends it" in stderr
    life.do("stop", "untold")
    assert life.json("list")["runs"] == []
    return str(row["run_id"])


def test_a_full_disk_that_takes_no_id_is_an_error_which_names_the_run(life: Life) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        status, stderr = start_into(life, full)
    finally:
        os.close(full)
    run_id = assert_it_runs_and_is_ended_as_was_said(life, stderr)
    assert status == 74, stderr
    said = f"error: {run_id} runs, but its id could not be written: No space left on device"
    assert f"homeroom: {said}\nhomeroom: hint: homeroom stop untold\n" in stderr
    assert "Exception ignored" not in stderr


def test_a_reader_that_has_gone_is_told_on_the_other_stream(life: Life) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        status, stderr = start_into(life, write_end)
    finally:
        os.close(write_end)
    assert_it_runs_and_is_ended_as_was_said(life, stderr)
    assert status == 141, stderr


def test_an_error_in_json_that_cannot_be_written_keeps_its_own_code(life: Life) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            homeroom_argv("transcript", "--json", "nobody"),
            env=life.home.env,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    expected = life.run("transcript", "--json", "nobody")
    assert json.loads(expected.stdout)["error"]["exit_code"] == expected.returncode
    assert (done.returncode, done.stderr) == (expected.returncode, expected.stderr)
