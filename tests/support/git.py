"""git as the tests use it: with no configuration but the repository's own."""

import os
import subprocess
from pathlib import Path


def git(directory: Path, *arguments: str) -> str:
    """Run git in a directory and return what it printed; a failure fails the test."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(directory),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    done = subprocess.run(
        ["git", *arguments],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stderr}"
    return done.stdout
