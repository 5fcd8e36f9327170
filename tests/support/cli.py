"""homeroom as its users run it: another process, with exactly the environment given."""

from homeroom.testing.cli import homeroom_argv, run_homeroom

__all__ = ["homeroom_argv", "run_homeroom"]
