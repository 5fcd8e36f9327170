"""Text of an agent's, on a terminal."""

import shutil
from pathlib import Path

import pytest

from homeroom.cli import runs
from homeroom.cli.printable import printable


@pytest.mark.parametrize(
    "order", ["\x1b]52;c;cm0=\x07", "\x9b2J", "\r", "\x08", "\u202e", "\u2066"]
)
def test_what_a_terminal_obeys_is_replaced(order: str) -> None:
    assert printable(f"a{order}b").isprintable()


@pytest.mark.parametrize("text", ["two\nlines", "a\ttab", "Zürich", "👩‍🚀", ""])
def test_what_a_terminal_shows_stays(text: str) -> None:
    assert printable(text) == text


def test_what_an_agent_called_its_branch_does_not_reach_the_terminal(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/a\x1b]0;b\x07\nrun_ffff  running\n")
    assert runs._branch(tmp_path) == "a?]0;b??run_ffff  running"
    shutil.rmtree(tmp_path / ".git")
    (tmp_path / ".git").write_bytes(b"gitdir: a\0b\n")
    assert runs._branch(tmp_path) is None
