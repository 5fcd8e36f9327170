"""``python -m homeroom``."""

import sys

if __name__ == "__main__":
    # "-m" puts the working directory first, where a run may have left a module.
    if not sys.flags.safe_path:
        del sys.path[0]

    from homeroom.cli.main import main

    sys.exit(main())
