"""``python -m homeroom``."""

import sys

from homeroom.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
