"""One error class a cause, each with its own exit code and a word on what to do next.

The numbers follow the spirit of BSD's ``sysexits.h`` (64 to 78), because agents
themselves end with 0 and 1, so that a script can tell homeroom's refusals from
the agent's own status. ``docs/reference/exit-codes.md`` is the table for users.
"""

import errno
import signal


class HomeroomError(Exception):
    """A condition that homeroom expected, explained to a person.

    Args:
        message: What happened, naming the file or tool and the cause. Never a secret.
        hint: What to do next, or None where there is nothing to do.
    """

    exit_code: int = 70
    kind: str = "internal"

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(HomeroomError):
    """The command line asks for something that does not exist or does not fit."""

    exit_code = 2
    kind = "usage"


class IntegrityError(HomeroomError):
    """What was downloaded or installed is not what is pinned."""

    exit_code = 65
    kind = "integrity"


class WorkspaceError(HomeroomError):
    """The directory to work in cannot be used."""

    exit_code = 66
    kind = "workspace"


class ToolError(HomeroomError):
    """A tool that is needed is missing, too old or cannot be run."""

    exit_code = 69
    kind = "tool"


class StateError(HomeroomError):
    """homeroom's own directories cannot be used: a symlink, a foreign owner, read-only."""

    exit_code = 73
    kind = "state"


class StorageError(HomeroomError):
    """The operating system failed an input or output operation, a full disk for one."""

    exit_code = 74
    kind = "storage"


class TryAgainError(HomeroomError):
    """Something outside failed for now: a download, or another process holds the lock."""

    exit_code = 75
    kind = "try-again"


class CredentialError(HomeroomError):
    """Credentials are there but cannot be used, or a run that needs some has none."""

    exit_code = 76
    kind = "credential"


class SandboxError(HomeroomError):
    """The isolation of a run could not be proven, so that the agent never started."""

    exit_code = 77
    kind = "sandbox"


class ConfigError(HomeroomError):
    """A configuration file cannot be read or says something homeroom does not know."""

    exit_code = 78
    kind = "config"


class EndedBySignalError(HomeroomError):
    """A signal asked homeroom to end before the agent had started.

    Args:
        number: The signal.
    """

    kind = "interrupted"

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by {signal.Signals(number).name}; nothing was left behind")
        self.exit_code = 128 + number


def exhausted(error: BaseException | None) -> OSError | None:
    """Find out whether an error came about because no more files could be opened.

    Args:
        error: Any error.

    Returns:
        The operating system's error below it; None when it has another reason.
    """
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
            return error
        error = error.__cause__ or error.__context__
    return None


def advice(error: OSError) -> str:
    """Say what to do about it.

    Args:
        error: As ``exhausted`` found it.

    Returns:
        A hint.
    """
    if error.errno == errno.ENFILE:
        return "the whole machine has too many files open: end some programs, then try again"
    return "allow this shell more open files, as in `ulimit -n 1024`, then try again"
