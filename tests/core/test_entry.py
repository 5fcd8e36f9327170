"""Ctrl-C in the first moments, while Python still loads what the command needs."""

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.conftest import PrivateHome

# Stands in for a module that is loaded on the way.
INTERRUPTED = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
os.kill(os.getpid(), signal.SIGINT)
"""


def ways() -> dict[str, list[str]]:
    """The installed program, as installers write it, and the module."""
    (script,) = entry_points(group="console_scripts", name="homeroom")
    code = f"import sys; from {script.module} import {script.attr}; sys.exit({script.attr}())"
    return {"script": ["-c", code], "module": ["-m", "homeroom"]}


@pytest.mark.parametrize("way", ways())
@pytest.mark.parametrize("module", ["argparse", "msgspec", "shlex"])
def test_an_interrupt_while_modules_are_loaded_ends_it_quietly(
    private_home: PrivateHome, tmp_path: Path, way: str, module: str
) -> None:
    early = tmp_path / "early"
    early.mkdir()
    (early / f"{module}.py").write_text(INTERRUPTED)
    done = subprocess.run(
        [sys.executable, *ways()[way], "start"],
        env=private_home.env | {"PYTHONPATH": os.pathsep.join([str(early), *sys.path])},
        cwd=private_home.home,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
