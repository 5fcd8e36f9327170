"""The grid as a terminal table, Markdown, JUnit, JSON and one HTML page."""

import html
import json
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from string import Template
from xml.etree import ElementTree as ET

from matrix.grid import COLUMNS, Row, Square

_MARKS = {"same": "·", "known": "○", "new": "✗", "unexplained": "!", "not-run": "?"}
_MEANING = (
    "· as it must be   ○ known to differ   ✗ NEW difference"
    "   ! said to differ, and does not   ? not run"
)


def text(rows: Sequence[Row]) -> str:
    """Render a table for a terminal, one line a cell, and every failure below it."""
    lines = [f"{'srt':<9} {'user':<6} {'':<{len(COLUMNS)}}  seconds"]
    for row in rows:
        marks = "".join(_MARKS[square.verdict] for square in row.squares)
        supported = "" if row.is_supported else "  (below the floor)"
        cell = row.cell
        lines.append(f"{cell.version:<9} {cell.user:<6} {marks}  {cell.seconds:5.1f}{supported}")
    lines += ["", _MEANING, ""]
    for row in rows:
        lines += [
            f"srt {row.cell.version} as {row.cell.user}: {_sentence(s)}" for s in row.failures
        ]
        if row.cell.error:
            lines.append(f"srt {row.cell.version} as {row.cell.user} did not run: {row.cell.error}")
    return "\n".join(lines).rstrip()


def _sentence(square: Square) -> str:
    what = f"{square.behaviour.title} ({square.behaviour.name})"
    if square.verdict == "unexplained":
        return f"{what}: holds, though {square.reason}"
    return f"{what}: {square.seen}, not {square.behaviour.expected}"


def markdown(rows: Sequence[Row]) -> str:
    """Render the grid with behaviours down and versions across."""
    heads = [f"{row.cell.version} {row.cell.user}" for row in rows]
    lines = [f"| behaviour | {' | '.join(heads)} |", f"|---|{'---|' * len(heads)}"]
    for at, behaviour in enumerate(COLUMNS):
        marks = " | ".join(_MARKS[row.squares[at].verdict] for row in rows)
        lines.append(f"| {behaviour.title} | {marks} |")
    return "\n".join([*lines, "", _MEANING])


def as_json(rows: Sequence[Row]) -> str:
    """Render everything for machines."""
    cells = [
        {
            "version": row.cell.version,
            "user": row.cell.user,
            "supported": row.is_supported,
            "seconds": round(row.cell.seconds, 2),
            "error": row.cell.error,
            "behaviours": {
                square.behaviour.name: {
                    "expected": square.behaviour.expected,
                    "seen": square.seen,
                    "verdict": square.verdict,
                    "reason": square.reason,
                }
                for square in row.squares
            },
        }
        for row in rows
    ]
    return json.dumps({"schema": 1, "cells": cells}, indent=2)


def junit(rows: Sequence[Row]) -> str:
    """Render one test suite a cell, one test case a behaviour."""
    root = ET.Element("testsuites", name="srt matrix")
    for row in rows:
        name = f"srt {row.cell.version} as {row.cell.user}"
        bad = len(row.failures) if row.cell.error is None else len(row.squares)
        suite = ET.SubElement(
            root, "testsuite", name=name, tests=str(len(row.squares)), failures=str(bad)
        )
        for square in row.squares:
            case = ET.SubElement(suite, "testcase", classname=name, name=square.behaviour.name)
            if square.verdict in ("new", "unexplained", "not-run"):
                ET.SubElement(case, "failure", message=_sentence(square))
            elif square.verdict == "known":
                ET.SubElement(case, "system-out").text = f"known to differ: {square.reason}"
    return ET.tostring(root, encoding="unicode", xml_declaration=True)


def page(rows: Sequence[Row]) -> str:
    """Render one self-contained HTML page."""
    template = Template(resources.files(__package__).joinpath("page.html").read_text())
    heads = "".join(
        f'<th scope="col"><span>{html.escape(row.cell.version)}</span>'
        f"<small>{html.escape(row.cell.user)}</small></th>"
        for row in rows
    )
    body = "".join(
        f'<tr><th scope="row">{html.escape(behaviour.title)}</th>'
        f"{''.join(_td(row.squares[at]) for row in rows)}</tr>"
        for at, behaviour in enumerate(COLUMNS)
    )
    failures = [(row, square) for row in rows for square in row.failures]
    errors = [row for row in rows if row.cell.error]
    items = [
        f"srt {row.cell.version} as {row.cell.user}: {_sentence(square)}"
        for row, square in failures
    ] + [
        f"srt {row.cell.version} as {row.cell.user} did not run: {row.cell.error}" for row in errors
    ]
    verdict = f"{len(items)} new differences" if items else "No new difference"
    return template.substitute(
        verdict=html.escape(verdict),
        state="bad" if items else "good",
        summary=html.escape(f"{len(rows)} cells, {len(COLUMNS)} behaviours each"),
        failures="".join(f"<li>{html.escape(item)}</li>" for item in items),
        heads=heads,
        body=body,
    )


def _td(square: Square) -> str:
    label = {"same": "as it must be", "known": "known to differ"}.get(
        square.verdict, square.verdict
    )
    detail = f"{label}: {square.seen}" + (f" ({square.reason})" if square.reason else "")
    return (
        f'<td class="{square.verdict}"><span aria-hidden="true">{_MARKS[square.verdict]}</span>'
        f'<span class="hidden">{html.escape(detail)}</span></td>'
    )


FILES: Mapping[str, Callable[[Sequence[Row]], str]] = {
    "matrix.md": markdown,
    "matrix.json": as_json,
    "matrix.xml": junit,
    "matrix.html": page,
}
