"""Every command that a page shows is one that exists: parsed here, not run."""

import ast
import re
import shlex
from pathlib import Path

import pytest

from homeroom.cli import main as cli
from tests.docs.pages import PAGES, ROOT, name, read, shell_lines

CODE = re.compile(r"`([^`\n]+)`|^(?: {4}|\$ )?((?:sh )?nox.+)$", re.MULTILINE)
OPERATORS = {"|", "||", "&&", ";", ">", ">>", "<", "&"}


def commands(line: str) -> list[list[str]]:
    """Part a line at the shell's operators; redirections go with what follows them."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = "#"
    parts: list[list[str]] = [[]]
    skip = False
    for word in lexer:
        if skip:
            skip = False
        elif word in {">", ">>", "<"}:
            skip = True
        elif word in OPERATORS:
            parts.append([])
        else:
            parts[-1].append(word)
    return [part for part in parts if part]


def homeroom_commands(line: str) -> list[list[str]]:
    found = []
    for words in commands(line):
        named = [not re.fullmatch(r"[A-Za-z_]\w*=.*", word) for word in words]
        begin = named.index(True) if True in named else len(words)
        if words[begin : begin + 1] == ["homeroom"]:
            found.append(words[begin + 1 :])
    return found


SHOWN = [
    pytest.param(words, id=f"{name(page)}: {shlex.join(words)}")
    for page in PAGES
    for line in shell_lines(page)
    for words in homeroom_commands(line)
]
SESSIONS = {
    node.name
    for node in ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8")).body
    if isinstance(node, ast.FunctionDef)
    and any("session" in ast.unparse(decorator) for decorator in node.decorator_list)
}


def parse(words: list[str]) -> None:
    own, theirs = cli._split(words)
    arguments = cli._parser().parse_args(own)
    assert not theirs or arguments.takes_arguments


def test_commands_are_found_in_the_pages() -> None:
    assert len(SHOWN) > 20


@pytest.mark.parametrize("words", SHOWN)
def test_a_command_that_is_shown_parses(words: list[str]) -> None:
    try:
        parse(words)
    except SystemExit as ended:
        # --version and --help end well.
        assert ended.code == 0  # noqa: PT017


@pytest.mark.parametrize("line", ["homeroom begin", "homeroom start --no-such", "homeroom"])
def test_a_command_that_does_not_exist_is_found(line: str) -> None:
    (words,) = homeroom_commands(line)
    with pytest.raises(SystemExit):
        parse(words)


def test_a_command_is_found_behind_operators_and_variables() -> None:
    line = "git diff | A=b homeroom start -- -p 'x | y' >file && homeroom sweep # later"
    assert homeroom_commands(line) == [["start", "--", "-p", "x | y"], ["sweep"]]


def sessions(code: str) -> list[str]:
    """List what follows ``-s`` in a call of nox, up to the next option or a comment."""
    words = code.split("#", maxsplit=1)[0].split()
    if "-s" not in words or not any(word in ("nox", "nox.sh") for word in words):
        return []
    following = words[words.index("-s") + 1 :]
    return following[: next((i for i, word in enumerate(following) if word[0] == "-"), None)]


def test_sessions_are_found_in_a_command() -> None:
    assert sessions("sh nox.sh -r -s lint test -- tests/x.py  # why") == ["lint", "test"]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_nox_sessions_that_are_shown_exist(page: Path) -> None:
    shown = {
        session
        for groups in CODE.findall(read(page))
        for code in groups
        for session in sessions(code)
    }
    assert shown - SESSIONS == set()


def test_the_readme_shows_how_to_run_the_demo_and_the_tests() -> None:
    lines = list(shell_lines(ROOT / "README.md"))
    assert "sh nox.sh -s demo" in lines
    assert "sh nox.sh -s test" in lines
