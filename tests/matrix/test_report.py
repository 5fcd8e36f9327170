"""The grid for people and for machines."""

import json
from collections.abc import Callable
from xml.etree import ElementTree as ET

from playwright.sync_api import Browser

from matrix import grid, report
from matrix.grid import AGENT_COLUMNS, COLUMNS, SRT_COLUMNS, Cell, Try
from tests.matrix.cells import AGENT, catalogue, cell, expect

HOSTILE = '</td><script>alert("x")</script>\x00\x1b[2J'
ROWS = [
    grid.judge(each, catalogue(expect("<0.0.50", "write.tmp")))
    for each in (
        cell("0.0.49", write__tmp="refused"),
        cell("0.0.83", read__canary=HOSTILE),
        Cell(Try("0.0.84", "root"), {}, 180.0, f"no end within 180 seconds {HOSTILE}"),
        cell("0.0.83", agent=AGENT),
    )
]


def test_the_text_has_a_line_for_each_cell_and_a_sentence_for_each_failure() -> None:
    shown = report.text(ROWS)
    lines = [line.split()[:2] for line in shown.splitlines()]
    assert ["0.0.49", "plain"] in lines
    assert ["0.0.83", "some-agent"] in lines
    for words in ("below the floor", "read.canary"):
        assert words in shown
    assert "srt 0.0.84 as root did not run: no end within 180 seconds" in shown
    assert "\x1b" not in shown
    assert "\x00" not in shown


def test_markdown_is_one_table_with_a_line_for_each_behaviour_and_the_failures() -> None:
    shown = report.markdown(ROWS)
    lines = [line for line in shown.splitlines() if line.startswith("|")]
    assert len(lines) == len(COLUMNS) + 2
    assert {line.count("|") for line in lines} == {len(ROWS) + 2}
    assert "read.canary" in shown
    assert "<script>" not in shown


def test_json_says_everything_of_every_square() -> None:
    document = json.loads(report.as_json(ROWS))
    assert document["schema"] == 1
    assert [each["version"] for each in document["cells"]] == [
        "0.0.49",
        "0.0.83",
        "0.0.84",
        "0.0.83",
    ]
    assert document["cells"][3]["agent"] == "some-agent 1.2.3"
    assert document["cells"][0]["behaviours"]["write.tmp"] == {
        "expected": "open",
        "seen": "refused",
        "verdict": "known",
        "reason": "a reason",
        "link": None,
    }


def test_junit_parses_and_counts_what_fails() -> None:
    root = ET.fromstring(report.junit(ROWS))
    suites = root.findall("testsuite")
    assert [int(suite.get("failures", "")) for suite in suites] == [0, 1, len(SRT_COLUMNS), 0]
    for suite, columns in zip(suites, (*[SRT_COLUMNS] * 3, AGENT_COLUMNS), strict=True):
        assert len(suite.findall("testcase")) == int(suite.get("tests", "")) == len(columns)
        assert len(suite.findall("testcase/failure")) == int(suite.get("failures", ""))


def test_the_page_runs_nothing_that_a_version_said() -> None:
    shown = report.page(ROWS)
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


def test_the_page_is_accessible_in_both_colour_schemes(
    browser: Browser, axe: str, written: Callable[[str], str]
) -> None:
    page = browser.new_page()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.goto(written(report.page(ROWS)))
        page.add_script_tag(content=axe)
        found = page.evaluate("axe.run()")
        assert found["violations"] == []
    page.close()
