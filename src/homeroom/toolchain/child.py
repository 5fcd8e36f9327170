"""A child process that reports while it works and never outlives a failure."""

import contextlib
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from homeroom import certificates
from homeroom.errors import ToolError
from homeroom.files import create_private
from homeroom.process import send_group

_POLL = 0.3
_GRACE = 3.0

# What of the caller's environment would change what is installed, or where.
_DROPPED = {
    "NODE_OPTIONS": "loads code into the pinned Node.js",
    "NODE_PATH": "lets npm load modules that are not pinned",
    "NODE_COMPILE_CACHE": "makes Node.js write outside the toolchain",
    "NODE_REPL_HISTORY": "makes Node.js write outside the toolchain",
}
# pip reads every option from PIP_<OPTION>; these lead to a registry, the rest is ours.
_PIP_KEPT = frozenset(
    f"PIP_{name}"
    for name in (
        *("CERT", "CLIENT_CERT", "CONFIG_FILE", "DEFAULT_TIMEOUT", "EXTRA_INDEX_URL"),
        *("FIND_LINKS", "INDEX_URL", "KEYRING_PROVIDER", "NO_INDEX", "PROXY", "RETRIES"),
        *("TIMEOUT", "TRUSTED_HOST", "USE_DEPRECATED", "USE_FEATURE"),
    )
)


class Ended(msgspec.Struct, frozen=True):
    """How a child ended: exit status (negative for a signal) and what it said."""

    status: int
    output: str
    errors: str


def environment(environ: Mapping[str, str], temporary: Path) -> dict[str, str]:
    """Make a child's environment: the caller's, as far as it says where to fetch from.

    Args:
        environ: The caller's environment.
        temporary: Where the child puts its temporary files.

    Returns:
        The environment; proxies, mirrors and certificates are kept.
    """
    kept = {
        name: value
        for name, value in environ.items()
        if name not in _DROPPED and (not name.startswith("PIP_") or name in _PIP_KEPT)
    }
    # Messages are matched to find the cause, so that they must be in English.
    return kept | {
        "TMPDIR": str(temporary),
        "LC_ALL": "C.UTF-8",
        "PIP_REQUIRE_VIRTUALENV": "0",
        # The system's authorities as well as Node.js's own: pip asks those, too.
        "NODE_USE_SYSTEM_CA": "1",
        # pip asks `rustc --version` for its User-Agent, and where that is rustup's it writes
        # settings into its home (seen with pip 23.2).
        "RUSTUP_HOME": str(temporary / "rustup"),
    }


def trusting(environ: Mapping[str, str], temporary: Path) -> Mapping[str, str]:
    """Tell every client of the authorities that the caller told one of.

    Args:
        environ: The caller's environment.
        temporary: Where the certificates are written to, if there are any.

    Returns:
        The environment; what the caller has set is kept.

    Raises:
        ConfigError: A variable names what cannot be read or holds no certificate.
    """
    bundle = certificates.find(environ)
    path = temporary / "certificates.pem"
    if bundle is not None:
        create_private(path, bundle.content)
    return {**certificates.environment(bundle, path), **environ}


def run(
    argv: Sequence[str],
    cwd: Path,
    environ: Mapping[str, str],
    lock: int | None,
    poll: Callable[[], None],
) -> Ended:
    """Run a program to its end, or end it and all its children when anything is raised.

    Args:
        argv: The program and its arguments.
        cwd: Where it runs.
        environ: Its whole environment.
        lock: A descriptor that it inherits (see ``staging.exclusive``), if any.
        poll: Called about three times a second; what it raises ends the program.

    Returns:
        How it ended.

    Raises:
        ToolError: It cannot be started.
    """
    try:
        # A session of its own: a Ctrl-C at the terminal is homeroom's to hand on, and the
        # whole group can be ended.
        child = subprocess.Popen(
            argv,
            cwd=cwd,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            pass_fds=() if lock is None else (lock,),
            start_new_session=True,
            umask=0o077,
        )
    except OSError as error:
        raise ToolError(f"cannot run {argv[0]}: {error.strerror}") from error
    try:
        while True:
            try:
                output, errors = child.communicate(timeout=_POLL)
            except subprocess.TimeoutExpired:
                poll()
                continue
            return Ended(child.returncode, output, errors)
    except BaseException:
        _end(child)
        raise


def _end(child: subprocess.Popen[str]) -> None:
    send_group(child.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(_GRACE)
    # Its own children may have stayed. They must be gone before their tree is removed.
    send_group(child.pid, signal.SIGKILL)
    child.wait()
    deadline = time.monotonic() + _GRACE
    while send_group(child.pid, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    for stream in (child.stdout, child.stderr):
        if stream:
            stream.close()
