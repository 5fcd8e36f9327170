"""Reports with every verdict, as ``homeroom check`` could give them."""

from typing import Any

from homeroom.check import catalogue, runner
from homeroom.check.model import Finding, Result, fail, ok, skipped, warn
from homeroom.cli import check

# What an attacker's file name could hold: a tag, the end of the style sheet, a template's
# placeholder, an event, a terminal's colour, a turned direction of writing, a broken byte.
HOSTILE = (
    '<script>document.title="broken in"</script></style><img src=x onerror=alert(1)>'
    "\"'><svg onload=alert(2)> $style ${style} %s {0} &amp; \x1b[31m\x07\u202etxt.exe \udcff\x00"
)
LONG = "/somewhere/" + "a-directory-with-a-long-name" * 12


def document(**findings: Finding) -> dict[str, Any]:
    """Give a report in which all is well but what is said.

    Args:
        findings: By the probe's name, with ``__`` for the dot and ``_`` for the hyphen.
    """
    told = {
        name.replace("__", ".").replace("_", "-"): finding for name, finding in findings.items()
    }
    probes = catalogue.probes()
    assert told.keys() <= {probe.name for probe in probes}
    results = [
        Result(probe, told.get(probe.name, ok(f"seen, at {LONG}")), at / 10)
        for at, probe in enumerate(probes)
    ]
    return check.as_document(results, runner.exit_status(results))


def every_verdict(text: str = "/home/me/file") -> dict[str, Any]:
    """Give a report with every verdict, whose findings and cures hold a text."""
    return document(
        system__clock=fail(f"failed: {text}", f"rm {text}"),
        toolchain__runs=Finding("broken", f"crashed: {text}"),
        sandbox__git__commit=skipped(f"skipped: {text}"),
        state__trash=warn(f"warned: {text}", f"look at {text}"),
        leaks__managed=ok(f"well: {text}"),
    )
