"""The report for CI servers."""

from xml.etree import ElementTree as ET

from homeroom.cli import check_junit
from tests.check.samples import HOSTILE, document, every_verdict


def test_each_verdict_is_what_a_ci_server_makes_of_it() -> None:
    found = every_verdict()
    root = ET.fromstring(check_junit.document(found))
    assert root.attrib["tests"] == str(len(found["probes"]))
    assert [root.attrib[kind] for kind in ("failures", "errors", "skipped")] == ["1", "1", "1"]
    cases = {case.attrib["name"]: case for case in root.iter("testcase")}
    assert len(cases) == len(found["probes"])
    assert _kind(cases["system.clock"]) == "failure"
    assert _kind(cases["toolchain.runs"]) == "error"
    assert _kind(cases["sandbox.git.commit"]) == "skipped"
    assert _kind(cases["state.trash"]) == _kind(cases["leaks.managed"]) == "system-out"
    assert "do: rm /home/me/file" in (cases["system.clock"][0].text or "")


def test_each_group_is_a_suite() -> None:
    found = document()
    suites = ET.fromstring(check_junit.document(found)).findall("testsuite")
    assert [suite.attrib["name"] for suite in suites] == [
        group["name"] for group in found["groups"]
    ]


def test_what_is_hostile_stays_text() -> None:
    root = ET.fromstring(check_junit.document(every_verdict(HOSTILE)))
    messages = [case.attrib["message"] for case in root.iter("failure")]
    assert messages[0].startswith("failed: <script>document.title=")
    assert messages[0].endswith(r"\x1b[31m\x07\u202etxt.exe \udcff\x00")


def _kind(case: ET.Element) -> str:
    assert len(case) == 1
    return case[0].tag
