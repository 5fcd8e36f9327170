"""A version of srt that nobody tried is refused, until the user says so."""

import json
from pathlib import Path

import pytest

from homeroom.toolchain.store import MARK, Toolchain
from tests.e2e.refusal import assert_refused, config_file
from tests.e2e.runner import Runner, with_tool
from tests.e2e.session import ANSWER
from tests.support.runs import Journal

SANDBOX = 77


def calling_itself(version: str, toolchain: Toolchain, directory: Path) -> str:
    """Make a toolchain whose srt is the pinned one under another version."""
    root = with_tool(toolchain, directory)
    document = json.loads((root / MARK).read_bytes())
    document["tools"]["srt"]["version"] = version
    (root / MARK).write_text(json.dumps(document))
    return str(root)


@pytest.mark.parametrize(
    ("version", "reason"),
    [("0.0.78", "below the floor, 0.0.79"), ("0.0.999", "newer than the newest that was tried")],
)
def test_an_untried_version_is_refused_by_number_and_names_the_way_past(
    runner: Runner,
    journal: Journal,
    toolchain: Toolchain,
    tmp_path: Path,
    version: str,
    reason: str,
) -> None:
    named = calling_itself(version, toolchain, tmp_path)
    done = runner.start(journal, "-p", "hi", env=runner.home.env | {"HOMEROOM_TOOLCHAIN": named})
    assert_refused(done, SANDBOX, f"srt {version} is {reason}", "--allow-untried", asked=journal)


def test_a_newer_version_runs_when_the_user_says_so(
    runner: Runner, journal: Journal, toolchain: Toolchain, tmp_path: Path
) -> None:
    named = calling_itself("0.0.999", toolchain, tmp_path)
    # Its parts are links to the real one, which may lie in a home directory that rooms hide.
    config_file(runner.home).write_text(f'[files]\nread = ["{toolchain.root}"]\n')
    env = runner.home.env | {"HOMEROOM_TOOLCHAIN": named}
    done = runner.start(journal, "-p", "hi", options=["--allow-untried"], env=env)
    assert done.returncode == 0, done.stderr
    assert ANSWER in done.stdout
