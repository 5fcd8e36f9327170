"""homeroom with one more adapter, for tests of an adapter that is still to be registered.

usage: python -m homeroom.testing.run MODULE:CLASS COMMAND [ARGUMENT...]
"""

import importlib
import sys

from homeroom import provider
from homeroom.cli.main import main


def run(reference: str, arguments: list[str]) -> int:
    """Run one of homeroom's commands.

    Args:
        reference: The adapter, as its registry line would name it.
        arguments: What stands after ``homeroom``.

    Returns:
        The exit status.
    """
    module, _, attribute = reference.partition(":")
    adapter = getattr(importlib.import_module(module), attribute)
    # Of this process alone, which does nothing else.
    provider._REGISTRY[adapter.name] = reference  # noqa: SLF001
    return main(arguments)


if __name__ == "__main__":
    # "-m" puts the working directory first, where a run may have left a module.
    if not sys.flags.safe_path:
        del sys.path[0]
    sys.exit(run(sys.argv[1], sys.argv[2:]))
