"""Text of an agent's, on a terminal."""

import shutil
from pathlib import Path

import pytest

from homeroom.cli import check, runs
from homeroom.cli.printable import in_one_line, printable
from homeroom.files import ensure_private_dir
from homeroom.paths import locate
from homeroom.run import record
from homeroom.run.record import Record
from tests.conftest import PrivateHome
from tests.support.cli import run_homeroom


@pytest.mark.parametrize(
    "order", ["\x1b]52;c;cm0=\x07", "\x9b2J", "\r", "\x08", "\u202e", "\u2066"]
)
def test_what_a_terminal_obeys_is_replaced(order: str) -> None:
    assert printable(f"a{order}b").isprintable()


@pytest.mark.parametrize("text", ["two\nlines", "a\ttab", "Zürich", "👩‍🚀", ""])
def test_what_a_terminal_shows_stays(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize("at", ["a\nb", "a\tb", "a\u2028b", "a\x85b", "a\x1b[2Jb"])
def test_a_row_stays_one_line(at: str) -> None:
    assert in_one_line(at).isprintable()
    assert in_one_line("Zürich 👩‍🚀") == "Zürich 👩‍🚀"


FORGED = "a\nrun_ffff     running  claude\tb"


def test_a_directory_cannot_forge_a_row_of_a_list(
    private_home: PrivateHome, tmp_path: Path
) -> None:
    places = locate(private_home.env)
    ended = Record(
        run_id="run_" + "0" * 32,
        provider="claude",
        workspace=str(tmp_path / FORGED),
        state="ended",
        created=1.0,
        ended=2.0,
        supervisor=1,
    )
    ensure_private_dir(places.runs)
    record.save(places.runs / f"{ended.run_id}.json", ended)
    shown = run_homeroom("list", "--all", env=private_home.env, cwd=tmp_path).stdout
    assert len(shown.splitlines()) == 2
    assert "a\ufffdrun_ffff" in shown


def test_a_directory_cannot_forge_a_line_of_a_dry_run(
    private_home: PrivateHome, tmp_path: Path
) -> None:
    directory = tmp_path / "a\nCredential\n\x1b[2Jb"
    directory.mkdir()
    words = ("dry-run", "--no-credentials", "-C", directory)
    done = run_homeroom(*words, env=private_home.env, cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].endswith("a\ufffdCredential\ufffd\ufffd[2Jb")
    assert done.stdout.splitlines().count("Credential") == 1


def test_a_file_cannot_forge_a_verdict_of_a_check() -> None:
    probe = {"verdict": "fail", "title": "t", "fixed": None, "cure": None, "seen": "x\n  ok   y: z"}
    assert check._told(probe)[0].splitlines()[1] == "         ok   y: z"


def test_what_an_agent_called_its_branch_does_not_reach_the_terminal(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/a\x1b]0;b\x07\nrun_ffff  running\n")
    assert runs._branch(tmp_path) == "a?]0;b??run_ffff  running"
    shutil.rmtree(tmp_path / ".git")
    (tmp_path / ".git").write_bytes(b"gitdir: a\0b\n")
    assert runs._branch(tmp_path) is None
