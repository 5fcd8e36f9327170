"""``homeroom check`` as it is called: what it prints, mends, and leaves behind."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import psutil
import pytest

from homeroom import home, provider
from homeroom.check import catalogue
from homeroom.check.model import Probe
from homeroom.errors import UsageError
from tests.check.machine import Machine, found, orphan, own_file, verdicts, write_state
from tests.support.cli import homeroom_argv, run_homeroom
from tests.support.runs import assert_nothing_left
from tests.support.terminal import Terminal
from tests.support.tree import changes, snapshot

# --- which probes -------------------------------------------------------------------------


def names(probes: list[Probe]) -> list[str]:
    return [probe.name for probe in probes]


def test_each_probe_has_its_own_name_and_a_group_with_a_title() -> None:
    every = list(catalogue.probes())
    assert len(set(names(every))) == len(every)
    assert [*dict.fromkeys(probe.group for probe in every)] == [*catalogue.GROUPS]


def test_each_need_is_a_probe_or_a_group() -> None:
    every = catalogue.probes()
    for probe in every:
        for word in probe.needs:
            assert any(other.is_called(word) for other in every), f"{probe.name} needs {word}"
            assert not probe.is_called(word)


def test_a_group_or_a_name_is_chosen_or_left_out() -> None:
    every = catalogue.probes()
    chosen = catalogue.select(
        every, only=["state", "system.git"], skip=["state.trash"], quick=False
    )
    assert set(names(chosen)) == {"system.git"} | {
        probe.name for probe in every if probe.group == "state" and probe.name != "state.trash"
    }


def test_what_is_named_is_asked_even_where_quick_would_leave_it_out() -> None:
    every = catalogue.probes()
    assert names(catalogue.select(every, only=["toolchain.hashes"], skip=[], quick=True)) == [
        "toolchain.hashes"
    ]
    quick = catalogue.select(every, only=[], skip=[], quick=True)
    assert quick
    assert all(probe.is_quick for probe in quick)


@pytest.mark.parametrize("word", ["sand", "system.", "system.git.x", ""])
def test_a_name_that_is_none_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match="no probe or group"):
        catalogue.select(catalogue.probes(), only=[], skip=[word], quick=False)


PAGE = Path(__file__).parents[2] / "docs" / "reference" / "checks.md"


def test_each_probe_is_explained_once() -> None:
    """What the page says of one agent holds for every other one."""
    page = PAGE.read_text(encoding="utf-8")
    explained = re.findall(r"^\| `([a-z-]+\.[A-Za-z.-]+)` (?:\* )?\|", page, re.MULTILINE)
    expected: list[str] = []
    for probe in catalogue.probes():
        general = [
            re.sub(rf"\.{agent}\b", ".AGENT", probe.name)
            for agent in provider.names()
            if re.search(rf"\.{agent}\b", probe.name)
        ]
        expected += general or [probe.name]
    assert sorted(explained) == sorted(set(expected))


def test_the_list_is_all_that_list_prints(machine: Machine) -> None:
    before = snapshot(machine.home)
    done = machine.run("--list", "--only", "system")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        probe.name for probe in catalogue.probes() if probe.group == "system"
    ]
    assert changes(before, snapshot(machine.home)) == []


def test_a_wrong_name_ends_with_the_status_of_wrong_usage(machine: Machine) -> None:
    done = machine.run("--only", "nothing")
    assert done.returncode == 2
    assert "homeroom check --list" in done.stderr


# --- what it prints -----------------------------------------------------------------------


def test_all_reports_say_the_same(machine: Machine, tmp_path: Path) -> None:
    write_state(machine, "trash/left/file", "")
    html, junit = tmp_path / "report.html", tmp_path / "report.xml"
    quick = ("--quick", "--only", "state", "--html", str(html), "--junit", str(junit))
    document = machine.check(*quick, status=0)
    assert document["schema"] == 1
    assert document["command"] == "check"
    assert found(document).keys() == {"state.trash"}
    assert sum(document["counts"].values()) == len(document["probes"])
    tests = ET.parse(junit).getroot().attrib["tests"]
    assert tests == str(len(document["probes"]))
    assert "Well as far as was tried, with 1 thing to know about" in html.read_text()
    text = machine.run("--only", "state").stdout
    assert "  WARN The trash is empty: 1 trees could not be removed" in text
    assert "       do: homeroom sweep" in text


def test_a_report_that_cannot_be_written_is_told(machine: Machine) -> None:
    done = machine.run("--only", "system.git", "--html", "/nowhere/report.html")
    assert done.returncode == 74
    assert "cannot write the report to /nowhere/report.html" in done.stderr


def test_a_file_name_cannot_move_the_cursor(machine: Machine) -> None:
    write_state(machine, "instances/\x1b[2J\u202e.txt", "")
    done = machine.run("--only", "state.foreign")
    assert r"\x1b[2J\u202e.txt" in done.stdout
    assert "\x1b" not in done.stdout


def test_nothing_but_the_report_is_printed_where_no_terminal_is(machine: Machine) -> None:
    assert machine.run("--only", "system").stderr == ""


def test_a_person_at_a_terminal_sees_how_far_it_is(machine: Machine, tmp_path: Path) -> None:
    said = tmp_path / "stderr"
    argv = homeroom_argv("check", "--only", "system")
    with Terminal() as terminal:
        script = f"script -qec '{' '.join(argv)}' {said} >/dev/null"
        terminal.start(["sh", "-c", script], env=machine.env, cwd=machine.cwd)
        assert terminal.wait_exit() == 0
    assert " of " in said.read_text()


def test_no_secret_is_in_any_report(machine: Machine, tmp_path: Path) -> None:
    html, junit = tmp_path / "report.html", tmp_path / "report.xml"
    reports = ("--html", str(html), "--junit", str(junit))
    printed = json.dumps(machine.check("--only", "credentials", *reports))
    for name in provider.names():
        secret = provider.get(name).demo_credential().secret.reveal()
        assert secret in machine.env.values()
        for report in (printed, html.read_text(), junit.read_text()):
            assert secret not in report


# --- what it mends ------------------------------------------------------------------------


def test_fix_mends_what_it_says(logged_in: Machine) -> None:
    machine = logged_in
    instance = orphan(machine)
    lock = write_state(machine, f"runs/{home.new_run_id()}.lock", "", age=3600)
    trash = write_state(machine, "trash/left/file", "")
    own_file(machine).chmod(0o644)
    machine.paths.runs.chmod(0o755)
    words = ("--only", "state", "--only", "credentials")
    before = machine.check(*words, status=1)
    assert found(before).keys() == {"state.permissions", "credentials.claude-modes"}
    document = machine.check(*words, "--fix", status=0)
    mended = {probe["name"]: probe["fixed"] for probe in document["probes"] if probe["fixed"]}
    assert mended["state.permissions"] == f"made private: {machine.paths.runs}"
    assert mended["credentials.claude-modes"] == f"made private: {own_file(machine)}"
    after = machine.check(*words, "--fix", status=0)
    swept = {probe["name"]: probe["fixed"] for probe in after["probes"] if probe["fixed"]}
    assert swept.keys() == {"state.orphans", "state.locks", "state.trash"}
    for path in (instance.root, instance.temp, lock, trash):
        assert not path.exists()
    assert own_file(machine).stat().st_mode & 0o777 == 0o600
    assert found(machine.check(*words, status=0)) == {}


def test_without_fix_nothing_is_mended(machine: Machine) -> None:
    orphan(machine)
    write_state(machine, "trash/left/file", "")
    before = snapshot(machine.paths.state)
    machine.check("--only", "state", "--only", "leaks", "--only", "credentials")
    assert changes(before, snapshot(machine.paths.state)) == []


# --- what it leaves -----------------------------------------------------------------------


@pytest.fixture
def tidy(machine: Machine, tmp_path: Path) -> Machine:
    """A machine with a TMPDIR of its own, so that what is left there can be seen."""
    temp = tmp_path / "tmp"
    temp.mkdir()
    return machine.with_env(TMPDIR=temp)


def assert_tidy(machine: Machine) -> None:
    root = Path(machine.env["HOMEROOM_HOME"])
    assert_nothing_left(root)
    assert os.listdir(machine.env["TMPDIR"]) == []
    assert set(os.listdir(root)) <= {"state", "tmp"}
    held = [process for process in psutil.process_iter() if _speaks_of(process, machine)]
    assert held == []


def _speaks_of(process: psutil.Process, machine: Machine) -> bool:
    try:
        return any("hr-tmux-" in word for word in process.cmdline()) and any(
            machine.env["HOMEROOM_HOME"] in word for word in process.cmdline()
        )
    except psutil.Error:
        return False


def test_a_whole_check_leaves_nothing(tidy: Machine) -> None:
    document = tidy.check(status=0)
    assert verdicts(document)[f"onboarding.{provider.DEFAULT}"] == "ok"
    assert_tidy(tidy)
    listed = run_homeroom("list", "--all", env=tidy.env, cwd=tidy.cwd)
    assert listed.stdout == "no runs\n", "what check tried is listed as the user's own runs"


def in_the_sandbox(machine: Machine) -> bool:
    return any(machine.paths.instances.glob("run_*/canary"))


def at_a_terminal(machine: Machine) -> bool:
    return any(Path(machine.env["HOMEROOM_HOME"]).glob("hr-tmux-*/s")) and any(
        machine.paths.runs.glob("run_*.lock")
    )


@pytest.mark.parametrize(
    ("moment", "words"),
    [
        (in_the_sandbox, ("--only", "sandbox")),
        (at_a_terminal, ("--only", "onboarding")),
    ],
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_nothing(
    tidy: Machine, moment: Callable[[Machine], bool], words: tuple[str, ...], number: int
) -> None:
    check = subprocess.Popen(
        homeroom_argv("check", *words),
        env=tidy.env,
        cwd=tidy.cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 30
    while not moment(tidy):
        assert check.poll() is None, "it ended before there was anything to interrupt"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    check.send_signal(number)
    output, _ = check.communicate(timeout=60)
    assert check.returncode == 128 + number
    assert output == b""
    assert_tidy(tidy)
