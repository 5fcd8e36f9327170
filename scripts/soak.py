#!/usr/bin/env python3
"""Let homeroom crash, race and run out of everything for a while: ``nox -s soak``.

usage: soak.py [--minutes N] [--seed N] [PYTEST'S OPTION...]

The suites of the life of a run take turns, each in its long form and with a seed of its own,
until the time is over; the one at work then goes on to its end. The first failure ends it.
HOMEROOM_TOOLCHAIN names the installed toolchain.
"""

import argparse
import itertools
import os
import secrets
import subprocess
import sys
import tempfile
import time

EXAMPLES = "10"
SUITES = (
    ("tests/life/test_crowd.py", "tests/life/test_concurrency.py"),
    ("tests/life/test_machine.py", "tests/core/sweep/test_state_machine.py"),
    ("tests/life/test_crashes.py",),
    ("tests/life/test_faults.py", "tests/life/test_bad_rooms.py"),
    ("tests/e2e/test_interruptions.py",),
)


def main() -> int:
    """Run the suites in turn, and say before each how far it is and what repeats it."""
    parser = argparse.ArgumentParser(description="Try the life of runs for long.")
    parser.add_argument("--minutes", type=float, default=30, metavar="N", help="30 by default")
    parser.add_argument("--seed", type=int, metavar="N", help="of the first turn")
    wanted, options = parser.parse_known_args()
    first = secrets.randbelow(2**31) if wanted.seed is None else wanted.seed
    begun = time.monotonic()
    for turn, suites in enumerate(itertools.cycle(SUITES)):
        passed = (time.monotonic() - begun) / 60
        if passed >= wanted.minutes:
            _say(f"{turn} turns in {passed:.1f} minutes, first seed {first}")
            return 0
        seed = first + turn
        where = f"turn {turn + 1}, minute {passed:.1f} of {wanted.minutes:g}, seed {seed}"
        _say(f"{where}: {' '.join(suites)}")
        with tempfile.TemporaryDirectory(prefix="homeroom-soak-") as home:
            command = [sys.executable, "-m", "pytest", "-q", "-n", "2", *suites]
            command += [f"--hypothesis-seed={seed}", *options]
            # Tests look for this variable, and take longer forms of themselves.
            environ = os.environ | {"HOME": home, "HOMEROOM_SOAK": EXAMPLES}
            status = subprocess.call(command, env=environ)
        if status != 0:
            _say(f"failed in {where}")
            return status
    return 0


def _say(line: str) -> None:
    sys.stderr.write(f"soak: {line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
