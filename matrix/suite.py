"""The hermetic tests in an image. Runs in the container, and as a plugin of its pytest."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from homeroom.sandbox import capabilities

if TYPE_CHECKING:
    import pytest

# "sandbox": what srt has a part in, its contract above all. "all": every test that needs no
# agent, no registry and no engine, most of which are the same whatever srt is there.
Suite = Literal["none", "sandbox", "all"]
SUITES: tuple[Suite, ...] = get_args(Suite)
_TESTS = {
    "sandbox": ("tests/sandbox/test_contract.py::TestSrt", "tests/core/test_srt_settings.py",
                "tests/core/prelude"),
    # What asks an agent's own program is left out: there is none in the image.
    "all": ("tests/core", "tests/provider", "tests/sandbox",
            "--ignore-glob=*_live.py", "--ignore-glob=*_catalogue.py"),
}  # fmt: skip
_HERMETIC = "not network and not docker"
_VERSION, _REPORT = "HOMEROOM_MATRIX_SRT", "HOMEROOM_MATRIX_REPORT"
_BAD = ("failed", "error")
_SHOWN = 3


def run(root: Path, suite: Suite, srt: str) -> str:
    """Run tests with the toolchain of the image.

    Args:
        root: Holds ``suite``, with the tests and what runs them.
        suite: Which; not "none".
        srt: The version that is there.

    Returns:
        "open" when all passed, else how many did not, and the first of them.
    """
    place = root / "suite"
    with tempfile.TemporaryDirectory() as name:
        report = Path(name, "report.json")
        home = Path(name, "home")
        home.mkdir(mode=0o700)
        environ = {key: value for key, value in os.environ.items() if key != "HOMEROOM_HOME"}
        environ["PYTHONPATH"] = f"{environ.get('PYTHONPATH', '')}:{place / 'site'}"
        environ |= {"HOME": str(home), "HYPOTHESIS_STORAGE_DIRECTORY": f"{name}/examples"}
        options = ["-q", "-p", "no:cacheprovider", "-p", "matrix.suite"]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, "-m", _HERMETIC, *_TESTS[suite]],
            cwd=place,
            env=environ | {_VERSION: srt, _REPORT: str(report)},
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            check=False,
        )
        if not report.exists():
            return f"pytest ended with {done.returncode}"
        passed, failed = json.loads(report.read_bytes())
    if done.returncode == 0:
        return "open"
    more = ", …" if len(failed) > _SHOWN else ""
    return f"{len(failed)} failed, {passed} passed: {', '.join(failed[:_SHOWN])}{more}"


def pytest_terminal_summary(terminalreporter: "pytest.TerminalReporter") -> None:
    """Write down how many passed, and which did not."""
    stats = terminalreporter.stats
    failed = [each.nodeid.removeprefix("tests/") for kind in _BAD for each in stats.get(kind, ())]
    content = json.dumps([len(stats.get("passed", ())), failed])
    Path(os.environ[_REPORT]).write_text(content, encoding="utf-8")


def pytest_configure() -> None:
    """Count the version that is there as tried: this is the trial.

    What lies below the floor stays refused, so that the tests are seen to fail.
    """
    tried = capabilities.parse(os.environ[_VERSION])
    if tried >= capabilities.FLOOR:
        capabilities.NEWEST_TRIED = tried
