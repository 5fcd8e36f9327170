"""The grid as a terminal table, Markdown, JUnit, JSON and one HTML page."""

import html
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from itertools import groupby
from string import Template
from xml.etree import ElementTree as ET

from homeroom.sandbox.behaviours import Behaviour
from matrix.grid import COLUMNS, Row, Square

_MARKS = {"same": "·", "known": "○", "new": "✗", "unexplained": "!", "not-run": "?"}
_MEANING = (
    "· as it must be   ○ known to differ   ✗ NEW difference"
    "   ! said to differ, and does not   ? not run"
)


def text(rows: Sequence[Row]) -> str:
    """Render a table for a terminal, one line a cell, and every failure below it."""
    width = max([3, *(len(row.cell.tried.head) for row in rows)])
    many = max([0, *(len(row.squares) for row in rows)])
    lines = [f"{'srt':<{width}} {'user':<6} {'':<{many}}  seconds"]
    for row in rows:
        marks = "".join(_MARKS[square.verdict] for square in row.squares)
        supported = "" if row.is_supported else "  (below the floor)"
        tried = row.cell.tried
        words = f"{tried.head:<{width}} {tried.user:<6} {marks:<{many}}"
        lines.append(f"{words}  {row.cell.seconds:5.1f}{supported}")
    lines += ["", _MEANING, ""]
    return "\n".join([*lines, *_failures(rows)]).rstrip()


def _failures(rows: Sequence[Row]) -> list[str]:
    """Give a sentence for each difference that is new, and for each cell that did not run."""
    sentences = []
    for row in rows:
        name = str(row.cell.tried)
        sentences += [f"{name}: {_sentence(square)}" for square in row.failures]
        if row.cell.error:
            sentences.append(f"{name} did not run: {row.cell.error}")
    return sentences


def _shown(rows: Sequence[Row]) -> list[Behaviour]:
    """Give the behaviours that some cell is about."""
    asked = {name for row in rows for name in row.by_name}
    return [behaviour for behaviour in COLUMNS if behaviour.name in asked]


def _sentence(square: Square) -> str:
    what = f"{square.behaviour.title} ({square.behaviour.name})"
    if square.verdict == "unexplained":
        return f"{what}: holds, though {square.reason}"
    return f"{what}: {square.seen}, not {square.behaviour.expected}"


def markdown(rows: Sequence[Row]) -> str:
    """Render the grid with behaviours down and versions across."""
    heads = [f"{row.cell.tried.head} {row.cell.tried.user}" for row in rows]
    lines = [f"| behaviour | {' | '.join(heads)} |", f"|---|{'---|' * len(heads)}"]
    for behaviour in _shown(rows):
        found = [row.by_name.get(behaviour.name) for row in rows]
        marks = " | ".join(_MARKS[square.verdict] if square else "" for square in found)
        lines.append(f"| {behaviour.title} | {marks} |")
    sentences = [f"- {html.escape(sentence)}" for sentence in _failures(rows)]
    return "\n".join([*lines, "", _MEANING, "", *sentences]).rstrip() + "\n"


def as_json(rows: Sequence[Row]) -> str:
    """Render everything for machines."""
    cells = [
        {
            "version": row.cell.tried.srt,
            "agent": str(row.cell.tried.agent) if row.cell.tried.agent else None,
            "user": row.cell.tried.user,
            "supported": row.is_supported,
            "seconds": round(row.cell.seconds, 2),
            "error": row.cell.error,
            "behaviours": {
                square.behaviour.name: {
                    "expected": square.behaviour.expected,
                    "seen": square.seen,
                    "verdict": square.verdict,
                    "reason": square.reason,
                    "link": square.link,
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
        name = str(row.cell.tried)
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
    # The newest first: a wide grid is scrolled, and what is supported must be in sight.
    turned = [row for head in reversed(_heads(rows)) for row in rows if row.cell.tried.head == head]
    tables = (
        _table(name, [row for row in turned if (row.cell.tried.agent is not None) == is_agents])
        for name, is_agents in (("Versions of srt", False), ("Agents in srt", True))
    )
    items = _failures(rows)
    many = "" if len(items) == 1 else "s"
    verdict = f"{len(items)} new difference{many}" if items else "No new difference"
    return template.substitute(
        verdict=html.escape(verdict),
        state="bad" if items else "good",
        summary=html.escape(f"{len(rows)} cells, {len(_shown(rows))} behaviours"),
        failures="".join(f"<li>{html.escape(item)}</li>" for item in items),
        known="".join(_known(rows)),
        tables="".join(tables),
    )


def _heads(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row.cell.tried.head for row in rows))


def _table(name: str, rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    users = "".join(f'<th scope="col">{html.escape(row.cell.tried.user)}</th>' for row in rows)
    body = "".join(
        f'<tr><th scope="row">{html.escape(behaviour.title)}</th>'
        f"{''.join(_td(row.by_name[behaviour.name]) for row in rows)}</tr>"
        for behaviour in _shown(rows)
    )
    return (
        f'<h2>{name}</h2><div class="grid" tabindex="0" role="region" aria-label="{name}"><table>'
        f'<thead><tr><th scope="col" rowspan="2">Behaviour</th>{"".join(_versions(rows))}</tr>'
        f"<tr>{users}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _versions(rows: Sequence[Row]) -> Iterator[str]:
    """Head the columns of each version, those that ``start`` supports in bold."""
    for version, group in groupby(rows, key=lambda row: row.cell.tried.head):
        cells = list(group)
        kind = "supported" if cells[0].is_supported else "control"
        yield (
            f'<th scope="colgroup" colspan="{len(cells)}" class="{kind}">'
            f"{html.escape(version)}</th>"
        )


def _known(rows: Sequence[Row]) -> Iterator[str]:
    """Say each known difference once: where it was seen, why it is so, where to read more."""
    seen: dict[tuple[str, str | None], list[str]] = {}
    for row in rows:
        for square in row.squares:
            if square.verdict == "known":
                where = f"{row.cell.tried.head} {row.cell.tried.user}"
                places = seen.setdefault((square.reason or "", square.link), [])
                places += [] if where in places else [where]
    for (reason, link), places in seen.items():
        more = f' <a href="{html.escape(link)}">read about it</a>' if link else ""
        where = html.escape(", ".join(places))
        yield f"<li>{html.escape(reason)}{more}<br><small>{where}</small></li>"


def _td(square: Square) -> str:
    label = {"same": "as it must be", "known": "known to differ"}.get(
        square.verdict, square.verdict
    )
    said = f"{label}: {square.seen}" + (f" ({square.reason})" if square.reason else "")
    detail = html.escape(said)
    return (
        f'<td class="{square.verdict}" title="{detail}">'
        f'<span aria-hidden="true">{_MARKS[square.verdict]}</span>'
        f'<span class="hidden">{detail}</span></td>'
    )


FILES: Mapping[str, Callable[[Sequence[Row]], str]] = {
    "matrix.md": markdown,
    "matrix.json": as_json,
    "matrix.xml": junit,
    "matrix.html": page,
}
