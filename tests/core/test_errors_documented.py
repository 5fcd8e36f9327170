"""Each cause has an exit code of its own, and the table for users knows them all."""

import ast
import re
import signal
from pathlib import Path

import pytest

from homeroom import errors
from homeroom.errors import EndedBySignalError, HomeroomError

ROOT = Path(__file__).parent.parent.parent
TABLE = ROOT / "docs" / "reference" / "exit-codes.md"
CLASSES = [
    thing
    for thing in vars(errors).values()
    if isinstance(thing, type) and issubclass(thing, HomeroomError)
]
FIXED = [error for error in CLASSES if error is not EndedBySignalError]


def rows() -> dict[str, tuple[str, str]]:
    """Read the table: a class's code and kind, by its name."""
    found = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        match = re.match(r"\| ([^|]+) \| `([a-z-]+)` \| `(\w+)` \|", line)
        if match:
            found[match[3]] = (match[1], match[2])
    return found


def test_the_table_names_every_class_and_no_other() -> None:
    assert set(rows()) == {error.__name__ for error in CLASSES}


@pytest.mark.parametrize("error", FIXED, ids=lambda error: error.__name__)
def test_the_table_gives_the_code_and_the_kind(error: type[HomeroomError]) -> None:
    assert rows()[error.__name__] == (str(error.exit_code), error.kind)


def test_the_table_gives_the_code_of_an_end_by_signal() -> None:
    assert rows()["EndedBySignalError"] == ("128+*n*", EndedBySignalError.kind)
    text = TABLE.read_text(encoding="utf-8")
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        error = EndedBySignalError(number)
        assert error.exit_code == 128 + number
        assert number.name in error.message
        assert f"| {error.exit_code} | {number.value}, {number.name}" in text


def test_no_two_causes_share_a_code_or_a_kind() -> None:
    assert len({error.exit_code for error in FIXED}) == len(FIXED)
    assert len({error.kind for error in CLASSES}) == len(CLASSES)


def test_no_code_is_one_that_an_agent_or_a_signal_has() -> None:
    assert all(error.exit_code == 2 or 64 <= error.exit_code <= 78 for error in FIXED)


def test_no_code_or_kind_is_given_elsewhere() -> None:
    """One given beside its cause would be missing from the table unnoticed."""
    strays = []
    for module in sorted((ROOT / "src").rglob("*.py")):
        if module.name == "errors.py":
            continue
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and any(
                "Error" in ast.unparse(b) for b in node.bases
            ):
                own = [line for part in node.body for line in ast.unparse(part).splitlines()]
                strays += [
                    line for line in own if re.match(r"\s*(self\.)?(exit_code|kind)\b", line)
                ]
    assert strays == []
