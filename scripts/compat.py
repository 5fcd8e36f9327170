#!/usr/bin/env python3
"""Run what re-verifies each agent's files, flags and dialogs with its real program.

usage: compat.py SCRATCH [--claude-version X] [--codex-version X] [PYTEST'S OPTION...]

As pinned, or of another version from npm. The whole toolchain is exchanged then, not the
program alone, so that homeroom has no door for it: it takes any toolchain that is whole and
was made for its pins. HOMEROOM_TOOLCHAIN names the installed one.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from homeroom.testing import versions
from homeroom.toolchain.store import TOOLCHAIN_VARIABLE

SUITES = {
    "claude": ("tests/provider/test_claude_live.py", "tests/e2e/test_preferences.py"),
    "codex": ("tests/provider/test_codex_live.py", "tests/e2e/test_codex.py"),
}
# An agent that homeroom does not ship; it is fetched for this.
THIRD = ("tests/provider/compat_qwen.py",)


def main() -> int:
    """Run the suites of the agents that are asked for, of all as pinned when none is."""
    parser = argparse.ArgumentParser(description="Try homeroom with other versions of agents.")
    parser.add_argument("scratch", type=Path, help="where other versions are put")
    for agent in SUITES:
        parser.add_argument(f"--{agent}-version", metavar="X", help="instead of the pinned one")
    wanted, options = parser.parse_known_args()
    others = {agent: version for agent in SUITES if (version := vars(wanted)[f"{agent}_version"])}
    environ = dict(os.environ)
    for agent, version in others.items():
        root = wanted.scratch / f"{agent}-{version}"
        environ[TOOLCHAIN_VARIABLE] = str(versions.main(root, {agent: version}, environ))
    suites = [suite for agent in others or SUITES for suite in SUITES[agent]]
    suites += [] if others else THIRD
    with tempfile.TemporaryDirectory(prefix="homeroom-compat-") as home:
        command = [sys.executable, "-m", "pytest", "-n", "2", *suites, *options]
        return subprocess.call(command, env=environ | {"HOME": home})


if __name__ == "__main__":
    sys.exit(main())
