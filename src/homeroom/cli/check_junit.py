"""The report of ``homeroom check`` for CI servers: JUnit's XML."""

from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as ET

_KINDS = {"fail": "failure", "broken": "error", "skipped": "skipped"}


def document(found: Mapping[str, Any]) -> str:
    """Render a report as JUnit has it: a suite for each group, a case for each probe.

    Args:
        found: As ``homeroom check --json`` prints it.

    Returns:
        The XML. A failure and its cure are a ``failure``, a probe without an answer is an
        ``error``; a warning passes, with what was seen in ``system-out``.
    """
    root = ET.Element("testsuites", {"name": "homeroom check", **_numbers(found["probes"])})
    for group in dict.fromkeys(probe["group"] for probe in found["probes"]):
        probes = [probe for probe in found["probes"] if probe["group"] == group]
        about = {"name": group, "timestamp": found["at"], **_numbers(probes)}
        suite = ET.SubElement(root, "testsuite", about)
        for probe in probes:
            suite.append(_case(probe))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _numbers(probes: list[Mapping[str, Any]]) -> dict[str, str]:
    verdicts = [probe["verdict"] for probe in probes]
    return {
        "tests": str(len(probes)),
        "failures": str(verdicts.count("fail")),
        "errors": str(verdicts.count("broken")),
        "skipped": str(verdicts.count("skipped")),
        "time": f"{sum(probe['seconds'] for probe in probes):.3f}",
    }


def _case(probe: Mapping[str, Any]) -> ET.Element:
    case = ET.Element(
        "testcase",
        classname=f"homeroom.check.{probe['group']}",
        name=probe["name"],
        time=f"{probe['seconds']:.3f}",
    )
    cure = f"\ndo: {probe['cure']}" if probe["cure"] else ""
    kind = _KINDS.get(probe["verdict"])
    if kind:
        told = ET.SubElement(case, kind, message=probe["seen"])
        told.text = f"{probe['title']}: {probe['seen']}{cure}"
    else:
        said = ET.SubElement(case, "system-out")
        said.text = f"{probe['verdict']}: {probe['title']}: {probe['seen']}{cure}"
    return case
