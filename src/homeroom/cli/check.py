"""``homeroom check``: proof that this machine can give safe rooms."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from homeroom import __version__
from homeroom.cli.pages import located

if TYPE_CHECKING:
    from homeroom.check.model import Result

_EPILOG = """\
examples:
  homeroom check                  everything; each probe tries what it is about
  homeroom check --quick          what can be known in a moment
  homeroom check --only sandbox   one group, or one probe by its name
  homeroom check --fix            mend what can be mended safely
  homeroom check --html report.html

Exit status: 0 all is well (warnings included), 1 something failed, 2 something could not
be checked."""
_MARKS = {"ok": "ok", "warn": "WARN", "fail": "FAIL", "skipped": "-", "broken": "????"}


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "check",
        help="prove that this machine can give safe rooms",
        description="Try everything that a safe room depends on, and say what mends it.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--quick", action="store_true", help="only what takes no time")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="a probe or a group"
    )
    parser.add_argument(
        "--skip", action="append", default=[], metavar="NAME", help="a probe or a group"
    )
    parser.add_argument("--list", action="store_true", help="list the probes and do nothing")
    parser.add_argument("--fix", action="store_true", help="mend what can be mended safely")
    parser.add_argument("--online", action="store_true", help="also ask the providers' servers")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a report for people")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write a report for CI servers")
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Run probes and report.

    Args:
        arguments: The parsed command line.
        environ: The caller's environment.

    Returns:
        0, 1 or 2, as the help says.

    Raises:
        HomeroomError: A probe's name is unknown, or a report cannot be written.
    """
    from homeroom import paths
    from homeroom.check import catalogue, runner
    from homeroom.check.model import Surroundings
    from homeroom.toolchain.interrupt import Interrupted, interruptible

    chosen = catalogue.select(
        catalogue.probes(), only=arguments.only, skip=arguments.skip, quick=arguments.quick
    )
    if arguments.list:
        for probe in chosen:
            print(f"{probe.name:<28} {probe.title}")
        return 0
    around = Surroundings(environ, paths.locate(environ), online=arguments.online)
    progress = _Progress(len(chosen), shown=sys.stderr is not None and sys.stderr.isatty())
    try:
        with interruptible():
            results = runner.run(chosen, around, progress)
            if arguments.fix:
                results = runner.fix(results, around)
    except Interrupted as interrupted:
        return 128 + interrupted.number
    finally:
        progress.clear()
    _report(arguments, results)
    return runner.exit_status(results)


class _Progress:
    """A line on standard error that says how far the probes are, for a person waiting."""

    def __init__(self, total: int, *, shown: bool) -> None:
        self._total = total
        self._done = 0
        self._shown = shown

    def __call__(self, result: "Result") -> None:
        self._done += 1
        if self._shown:
            line = f"{self._done} of {self._total}: {result.probe.title}"
            print(f"\r\x1b[K{line[:78]}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _report(arguments: argparse.Namespace, results: Sequence["Result"]) -> None:
    from homeroom.check import runner

    document = as_document(results, runner.exit_status(results))
    if arguments.html:
        from homeroom.cli import check_html

        _write(arguments.html, check_html.page(document))
    if arguments.junit:
        from homeroom.cli import check_junit

        _write(arguments.junit, check_junit.document(document))
    print(json.dumps(document, indent=2) if arguments.json else _text(document))


def _write(path: Path, content: str) -> None:
    from homeroom.files import explain

    try:
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise explain(error, path, "write the report to") from error


def as_document(results: Sequence["Result"], status: int) -> dict[str, Any]:
    """Render results for machines; ``docs/reference/json.md`` describes every key.

    Args:
        results: What the probes found.
        status: The exit status.
    """
    import platform
    from datetime import UTC, datetime

    from homeroom.check import catalogue

    verdicts = [result.finding.verdict for result in results]
    groups = dict.fromkeys(result.probe.group for result in results)
    return {
        "schema": 1,
        "command": "check",
        "version": __version__,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "system": f"{platform.system()} {platform.release()} ({platform.machine()})",
        "exit_status": status,
        "groups": [{"name": name, "title": catalogue.GROUPS[name]} for name in groups],
        "counts": {verdict: verdicts.count(verdict) for verdict in _MARKS},  # type: ignore[arg-type]
        "probes": [
            {
                "name": result.probe.name,
                "group": result.probe.group,
                "title": result.probe.title,
                "verdict": result.finding.verdict,
                "seen": _plain(result.finding.seen),
                "cure": _plain(result.finding.cure),
                "blocked_by": result.blocked_by,
                "seconds": round(result.seconds, 3),
                "fixed": _plain(result.fixed),
            }
            for result in results
        ],
    }


@overload
def _plain(text: str) -> str: ...
@overload
def _plain(text: None) -> None: ...
def _plain(text: str | None) -> str | None:
    """Spell what would move a terminal's cursor, hide words, or spoil XML.

    What a probe has seen holds names of files and words of programs, which may be hostile.
    """
    if text is None:
        return None
    return "".join(
        character
        if character.isprintable() or character in "\n\t"
        else character.encode("unicode_escape").decode()
        for character in text
    )


def _text(document: Mapping[str, Any]) -> str:
    lines: list[str] = []
    group = ""
    for probe in document["probes"]:
        if probe["group"] != group:
            group = probe["group"]
            lines += ["", group]
        lines += _told(probe)
    # Once more at the end, where whoever scrolls least looks first.
    bad = [probe for probe in document["probes"] if probe["verdict"] in ("fail", "broken")]
    summary = ["", "to be mended", *(line for probe in bad for line in _told(probe))] if bad else []
    counts = ", ".join(
        f"{number} {verdict}" for verdict, number in document["counts"].items() if number
    )
    return "\n".join([*lines[1:], "", counts, *summary])


def _told(probe: Mapping[str, Any]) -> list[str]:
    """Say what one probe saw, and what mends it."""
    # What it saw may have several lines: none of them begins where a verdict stands.
    seen = probe["seen"].replace("\n", "\n       ")
    lines = [f"  {_MARKS[probe['verdict']]:<4} {probe['title']}: {seen}"]
    if probe["fixed"]:
        lines.append(f"       mended: {probe['fixed']}")
    if probe["cure"] and probe["verdict"] != "ok":
        lines.append(f"       do: {located(probe['cure'])}")
    return lines
