"""The report of ``homeroom check`` for people: one HTML file that asks for nothing else."""

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from html import escape
from string import Template
from typing import Any

from homeroom.data import DIRECTORY

_Probe = Mapping[str, Any]

# Worst first: what a person must do comes before what there is to know.
_WORDS = {
    "fail": "failed",
    "broken": "not known",
    "warn": "to know about",
    "ok": "proven",
    "skipped": "skipped",
}
_TAGS = _WORDS | {"warn": "warning"}
_OPEN = ("fail", "broken", "warn")
# Cures that begin so are commands; others are sentences.
_PROGRAMS = ("homeroom ", "chmod ", "rm ", "sudo ", "unset ", "export ")


def page(document: Mapping[str, Any]) -> str:
    """Render a report as one self-contained page.

    Nothing in it can run or ask for anything: the page's own policy forbids all but its
    style sheet, known by its hash.

    Args:
        document: As ``homeroom check --json`` prints it.

    Returns:
        The HTML, in which every text of the document is escaped.
    """
    style = _data("report.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    probes: Sequence[_Probe] = document["probes"]
    return Template(_data("report.html")).substitute(
        style=style,
        style_hash=f"'sha256-{digest}'",
        verdict=_worst(probes),
        headline=escape(headline(probes)),
        lead=escape(_lead(document)),
        bar=_bar(document["counts"]),
        counts=_counts(document["counts"]),
        todo=_todo(probes),
        groups="\n".join(_groups(document)),
        footer=escape(_footer(document)),
    )


def headline(probes: Sequence[_Probe]) -> str:
    """Say in one sentence how the machine stands; safe is only what the sandbox has proven.

    Args:
        probes: As in the document.
    """
    counts = Counter(probe["verdict"] for probe in probes)
    proven = any(probe["group"] == "sandbox" and probe["verdict"] == "ok" for probe in probes)
    if counts["fail"]:
        return f"{_number(counts['fail'], 'thing')} must be mended before a room is safe"
    if counts["broken"]:
        return f"Not proven: {_number(counts['broken'], 'probe')} gave no answer"
    if not counts["ok"] and not counts["warn"]:
        return "Nothing was tried, so nothing is proven"
    known = f", with {_number(counts['warn'], 'thing')} to know about" if counts["warn"] else ""
    return f"Rooms are safe here{known}" if proven else f"Well as far as was tried{known}"


def _data(name: str) -> str:
    return (DIRECTORY / name).read_text(encoding="utf-8")


def _number(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _worst(probes: Sequence[_Probe]) -> str:
    found = {probe["verdict"] for probe in probes}
    return next((verdict for verdict in _WORDS if verdict in found), "skipped")


def _lead(document: Mapping[str, Any]) -> str:
    tried = len(document["probes"]) - document["counts"]["skipped"]
    when = datetime.fromisoformat(document["at"])
    day = f"{when.day} {when:%B %Y, %H:%M} UTC"
    return f"{_number(tried, 'probe')} tried it on {document['system']}, {day}."


def _footer(document: Mapping[str, Any]) -> str:
    return (
        f"Written by homeroom {document['version']} with exit status {document['exit_status']}. "
        "It holds paths of this machine, and no secret."
    )


def _bar(counts: Mapping[str, int]) -> str:
    # One part for each probe: the page's policy would refuse a width in an element's style.
    return "".join(
        f'<span class="{verdict}"></span>' * counts[verdict]
        for verdict in _WORDS
        if counts[verdict]
    )


def _counts(counts: Mapping[str, int]) -> str:
    return "".join(
        f'<li class="{verdict}"><b>{counts[verdict]}</b> {word}</li>'
        for verdict, word in _WORDS.items()
        if counts[verdict]
    )


def _sorted(probes: Sequence[_Probe]) -> list[_Probe]:
    order = list(_WORDS)
    return sorted(probes, key=lambda probe: order.index(probe["verdict"]))


def _todo(probes: Sequence[_Probe]) -> str:
    found = [probe for probe in _sorted(probes) if probe["verdict"] in _OPEN]
    if not found:
        return ""
    links = "".join(
        f'<li class="{probe["verdict"]}">'
        f'<a href="#{escape(probe["name"])}">{escape(probe["seen"])}</a></li>'
        for probe in found
    )
    return (
        '<nav class="todo" aria-labelledby="todo"><h2 id="todo">In this order</h2>'
        f"<ol>{links}</ol></nav>"
    )


def _groups(document: Mapping[str, Any]) -> list[str]:
    titles = {group["name"]: group["title"] for group in document["groups"]}
    found: dict[str, list[_Probe]] = {}
    for probe in document["probes"]:
        found.setdefault(probe["group"], []).append(probe)
    return [_group(name, titles.get(name, name), probes) for name, probes in found.items()]


def _group(name: str, title: str, probes: Sequence[_Probe]) -> str:
    """Show what was found open, the rest folded; a group with nothing found folds whole."""
    worst = _worst(probes)
    marker = f"group-{escape(name)}"
    heading = (
        f'<h2 id="{marker}">{escape(title)}</h2> <span class="tag {worst}">{_tally(probes)}</span>'
    )
    found = [probe for probe in _sorted(probes) if probe["verdict"] in _OPEN]
    rest = [probe for probe in probes if probe["verdict"] not in _OPEN]
    if found:
        shown = "".join(_article(probe) for probe in found)
        folded = _folded(_tally(rest), rest) if rest else ""
        content = f'<div class="heading">{heading}</div>{shown}{folded}'
    else:
        content = _folded(heading, rest)
    return f'<section class="group" aria-labelledby="{marker}">{content}</section>'


def _tally(probes: Sequence[_Probe]) -> str:
    verdicts = [probe["verdict"] for probe in probes]
    return ", ".join(
        f"{verdicts.count(verdict)} {word}"
        for verdict, word in _WORDS.items()
        if verdict in verdicts
    )


def _article(probe: _Probe) -> str:
    name, verdict = escape(probe["name"]), probe["verdict"]
    fixed = f"<p>Mended: {escape(probe['fixed'])}</p>" if probe["fixed"] else ""
    return (
        f'<article class="{verdict}" id="{name}"><h3>{escape(probe["title"])} '
        f'<span class="tag {verdict}">{_TAGS[verdict]}</span></h3>'
        f"<p>{escape(probe['seen'])}</p>{fixed}{_cure(probe['cure'])}"
        f'<p class="name"><code>{name}</code></p></article>'
    )


def _cure(cure: str | None) -> str:
    if not cure:
        return ""
    text = escape(cure)
    if cure.startswith(_PROGRAMS):
        text = f"<code>{text}</code>"
    return f'<p class="cure"><b>Do this</b> {text}</p>'


def _folded(summary: str, probes: Sequence[_Probe]) -> str:
    rows = "".join(
        f'<li class="{probe["verdict"]}"><p><span class="hidden">{_WORDS[probe["verdict"]]}: '
        f'</span>{escape(probe["title"])}</p><p class="seen">{escape(probe["seen"])}'
        f'{_mended(probe)}</p><span class="time">{probe["seconds"]:.1f} s</span></li>'
        for probe in probes
    )
    return f"<details><summary>{summary}</summary><ul>{rows}</ul></details>"


def _mended(probe: _Probe) -> str:
    return f" Mended: {escape(probe['fixed'])}." if probe["fixed"] else ""
