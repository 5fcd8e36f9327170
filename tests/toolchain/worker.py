"""A setup in a process of its own, with any pins: what the tests kill, signal and race.

Run as: python worker.py LOCK_DIR [--thorough]
"""

import json
import os
import sys
from pathlib import Path

from homeroom.errors import HomeroomError
from homeroom.paths import locate
from homeroom.toolchain.install import install
from homeroom.toolchain.interrupt import Interrupted, interruptible
from homeroom.toolchain.progress import reporter


def main() -> int:
    """Install as `homeroom setup` does, and print what came of it as JSON."""
    lock_dir, thorough = Path(sys.argv[1]), "--thorough" in sys.argv
    try:
        with interruptible(), reporter(sys.stderr) as told:
            outcome = install(
                locate(os.environ), os.environ, told, lock_dir=lock_dir, thorough=thorough
            )
    except HomeroomError as error:
        sys.stderr.write(f"{error.message}\n{error.hint}\n")
        return error.exit_code
    except Interrupted as interrupted:
        return 128 + interrupted.number
    root = str(outcome.toolchain.root)
    sys.stdout.write(json.dumps({"installed": outcome.installed, "root": root}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
