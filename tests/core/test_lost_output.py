"""Output that nobody can take changes no status: a script that asks only for that gets it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PrivateHome

# A disk that is full, a reader that has gone, a stream that was closed, and two of them.
LOST = {
    "full": "2>/dev/full",
    "gone": "2>&3",
    "closed": "2>&-",
    "gone, and stdout closed": "2>&3 1>&-",
    "both full": ">/dev/full 2>&1",
    "both gone": ">&3 2>&3",
}
# Opens a pipe whose reader ends at once, as number 3.
RUN = """
mkfifo "$1"
: <"$1" &
exec 3>"$1"
wait
"$0" -m homeroom {words} {lost}
"""


def status(home: PrivateHome, cwd: Path, words: str, lost: str) -> tuple[int, str]:
    script = RUN.format(words=words, lost=lost)
    done = subprocess.run(
        ["/bin/sh", "-c", script, sys.executable, str(cwd / "fifo")],
        env=home.env,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )
    (cwd / "fifo").unlink()
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("lost", LOST.values(), ids=LOST)
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("start -C nothing", 66),
        ("dry-run nobody --json", 2),
        ("start --nonsense", 2),
        ("start --json", 2),
    ],
)
def test_a_failure_that_cannot_be_told_keeps_its_status(
    private_home: PrivateHome, words: str, expected: int, lost: str
) -> None:
    assert status(private_home, private_home.home, words, lost)[0] == expected


@pytest.mark.parametrize("lost", ["2>/dev/full", "2>&3", "2>&-"])
def test_success_needs_no_stderr(private_home: PrivateHome, lost: str) -> None:
    assert status(private_home, private_home.home, "sweep", lost) == (0, "nothing to sweep\n")


@pytest.mark.parametrize("lost", ["2>/dev/full", "2>&3", "2>&-"])
@pytest.mark.parametrize(("words", "expected"), [("--version", 0), ("--nonsense", 1)])
def test_the_agents_status_comes_back_when_homeroom_cannot_speak(
    ready_home: PrivateHome, workspace: Path, words: str, expected: int, lost: str
) -> None:
    """And what would have been told on stderr is not told on stdout instead."""
    code, said = status(ready_home, workspace, f"start --demo -- {words}", lost)
    assert code == expected
    assert "homeroom:" not in said
