"""``homeroom``, and ``python -m homeroom``."""

import sys


def main() -> int:
    """Run one command; Ctrl-C ends it quietly while its modules are still being loaded.

    Returns:
        The exit status.
    """
    try:
        from homeroom.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    # "-m" puts the working directory first, where a run may have left a module.
    if not sys.flags.safe_path:
        del sys.path[0]
    sys.exit(main())
