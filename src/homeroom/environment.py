"""The environment of a run, built up from nothing: what is not named here stays out."""

import os
from collections.abc import Iterable, Mapping

# Each entry is something that a program needs to talk to its user. What is left out is
# left out for a reason: it moves an agent's state (XDG_*, *_CONFIG_DIR, *_HOME), carries
# a secret (*_KEY, *_TOKEN, SSH_AUTH_SOCK), changes what code runs (NODE_OPTIONS,
# LD_PRELOAD, PYTHON*, BASH_ENV, GIT_*), or leads out of the room (*_PROXY, DISPLAY, DBUS_*).
ALLOWED = frozenset(
    {
        "CI",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "COLORFGBG",
        "COLORTERM",
        "EDITOR",
        "FORCE_COLOR",
        "LANG",
        "LANGUAGE",
        "LOGNAME",
        "NO_COLOR",
        "PAGER",
        "PATH",
        "SHELL",
        "TERM",
        "TERM_PROGRAM",
        "TERM_PROGRAM_VERSION",
        "TZ",
        "USER",
        "VISUAL",
    }
)
_ALLOWED_PREFIX = "LC_"


def allowed(environ: Mapping[str, str], tools: Iterable[str]) -> dict[str, str]:
    """Take from the caller's environment what a run may have.

    Args:
        environ: The caller's environment.
        tools: Directories to add at the end of PATH, so that the user's own tools win.

    Returns:
        The variables, a new mapping. Relative entries of PATH are dropped: they would
        name programs in the workspace.
    """
    taken = {
        name: value
        for name, value in environ.items()
        if name in ALLOWED or name.startswith(_ALLOWED_PREFIX)
    }
    directories = [*environ.get("PATH", os.defpath).split(os.pathsep), *tools]
    absolute = [directory for directory in directories if os.path.isabs(directory)]
    taken["PATH"] = os.pathsep.join(dict.fromkeys(absolute))
    return taken
