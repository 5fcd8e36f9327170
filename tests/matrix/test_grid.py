"""What is judged to be new, known or unexplained."""

from matrix import grid
from matrix.grid import AGENT_COLUMNS, SRT_COLUMNS, Cell, Row, Try
from tests.matrix.cells import AGENT, catalogue, cell, expect


def verdict(row: Row, name: str) -> str:
    return next(square.verdict for square in row.squares if square.behaviour.name == name)


def test_a_cell_that_saw_everything_as_it_must_be_passes() -> None:
    row = grid.judge(cell(), catalogue())
    assert {square.verdict for square in row.squares} == {"same"}
    assert not grid.has_failed([row])


def test_a_difference_that_nothing_explains_is_new_and_fails() -> None:
    row = grid.judge(cell(read__canary="open"), catalogue())
    assert verdict(row, "read.canary") == "new"
    assert grid.has_failed([row])


def test_a_difference_that_an_entry_explains_passes_with_its_reason() -> None:
    row = grid.judge(cell(read__canary="open"), catalogue(expect("<1.0.0", "read.*")))
    assert verdict(row, "read.canary") == "known"
    assert [square.reason for square in row.squares if square.reason] == ["a reason"]
    assert not grid.has_failed([row])


def test_an_entry_that_explains_nothing_fails() -> None:
    row = grid.judge(cell(), catalogue(expect("<1.0.0", "read.canary")))
    assert verdict(row, "read.canary") == "unexplained"
    assert grid.has_failed([row])


def test_an_entry_for_what_happens_now_and_then_may_explain_nothing() -> None:
    row = grid.judge(cell(), catalogue(expect("<1.0.0", "race.first-request", may=True)))
    assert not grid.has_failed([row])


def test_a_pattern_explains_a_region_and_promises_nothing_of_its_parts() -> None:
    row = grid.judge(cell(read__canary="open"), catalogue(expect("<1.0.0", "*")))
    assert not grid.has_failed([row])


def test_an_entry_for_root_explains_nothing_of_a_plain_user() -> None:
    known = catalogue(expect("<1.0.0", "read.canary", user="root"))
    assert grid.has_failed([grid.judge(cell(read__canary="open"), known)])
    assert not grid.has_failed([grid.judge(cell(user="root", read__canary="open"), known)])


def test_what_was_not_tried_is_no_success() -> None:
    row = grid.judge(Cell(Try("0.0.83", "plain"), {"command.starts": "open"}), catalogue())
    assert verdict(row, "read.canary") == "new"


def test_a_cell_that_did_not_run_fails_even_where_everything_is_explained() -> None:
    broken = Cell(Try("0.0.83", "plain"), {}, 1.0, "no end within 180 seconds")
    row = grid.judge(broken, catalogue(expect("<1.0.0", "*")))
    assert {square.verdict for square in row.squares} == {"not-run"}
    assert grid.has_failed([row])


def test_an_agent_is_judged_by_what_an_agent_does_and_srt_by_the_rest() -> None:
    assert list(grid.judge(cell(), catalogue()).by_name) == [each.name for each in SRT_COLUMNS]
    row = grid.judge(cell(agent=AGENT, agent__prompt="no prompt: Welcome"), catalogue())
    assert list(row.by_name) == [each.name for each in AGENT_COLUMNS]
    assert [each.behaviour.name for each in row.failures] == ["agent.prompt"]
