"""The guards of tests/conftest.py fail a suite that they should fail."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PrivateHome

ROOT = Path(__file__).parents[2]

TESTS = """
import os, pathlib, warnings

def test_good(private_home, workspace):
    assert workspace.is_relative_to(private_home.home)

def test_environment():
    os.environ["LEFT"] = "over"

def test_directory(tmp_path):
    os.chdir(tmp_path)

def test_warning():
    warnings.warn("look")

def test_real_home():
    (pathlib.Path.home() / ".claude.json").write_text("mine now")
"""


@pytest.mark.parametrize(
    ("test", "outcome"),
    [
        ("test_good", "1 passed"),
        ("test_environment", "the test changed its environment"),
        ("test_directory", "the test changed its working directory"),
        ("test_warning", "UserWarning: look"),
        ("test_real_home", ".claude.json: .: new"),
    ],
)
@pytest.mark.parametrize("workers", [0, 1], ids=["alone", "in a worker"])
def test_a_guard_fails_what_it_should(
    private_home: PrivateHome, test: str, outcome: str, workers: int
) -> None:
    tests = private_home.home / "test_guarded.py"
    tests.write_text(TESTS)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", "--rootdir", ROOT),
            *("-p", "tests.conftest", "-p", "no:cacheprovider", "-n", str(workers)),
            *("--basetemp", private_home.root),
            f"{tests}::{test}",
        ],
        cwd=ROOT,
        env=private_home.env | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode == 0) == (test == "test_good")
    assert outcome in done.stdout
