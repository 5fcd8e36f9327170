"""homeroom as its users run it: another process, with exactly the environment given."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path


def homeroom_argv(*arguments: str | Path) -> list[str]:
    """Say how this very Python runs homeroom, for callers that start it themselves."""
    return [sys.executable, "-m", "homeroom", *(os.fspath(argument) for argument in arguments)]


def run_homeroom(
    *arguments: str | Path,
    env: Mapping[str, str],
    cwd: Path,
    stdin: str = "",
    timeout: float = 60,
) -> subprocess.CompletedProcess[str]:
    """Run one homeroom command to its end.

    Args:
        arguments: What stands after ``homeroom``.
        env: The whole environment; nothing of the test's own is added.
        cwd: Where to run it.
        stdin: What it reads there before the end of file.
        timeout: Seconds until it is killed and the test fails.

    Returns:
        Its status, stdout and stderr; a non-zero status is not an error here.
    """
    return subprocess.run(
        homeroom_argv(*arguments),
        env=dict(env),
        cwd=cwd,
        input=stdin,
        timeout=timeout,
        capture_output=True,
        text=True,
        check=False,
    )
