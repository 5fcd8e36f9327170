"""The tools that only the operating system can give: what srt builds its sandbox from.

macOS brings its own sandbox and needs none of them.
"""

import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from homeroom.errors import ToolError, exhausted
from homeroom.toolchain.distribution import install_command, read_release

_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"
_PAGE = "docs/how-to/install-system-tools.md"
_TIMEOUT = 10.0


class Requirement(msgspec.Struct, frozen=True):
    """A program of the system.

    Attributes:
        name: The package, which has this name on every known distribution.
        program: The program in it.
        ask: The option that makes it tell its version.
        floor: The oldest version to accept.
    """

    name: str
    program: str
    ask: str
    floor: tuple[int, ...]


class SystemTool(msgspec.Struct, frozen=True):
    """A program that was found.

    Attributes:
        name: The package's name.
        path: The program, absolute.
        version: As it tells; None when it was not asked.
    """

    name: str
    path: Path
    version: str | None


REQUIREMENTS = (
    # srt 0.0.83 calls 0.5.0 the oldest on which everything it does holds (its
    # OLDEST_FULLY_SUPPORTED_BWRAP_VERSION): before that, a denied socket or device stays
    # readable. Measured here: 0.8.0.
    Requirement("bubblewrap", "bwrap", "--version", (0, 5, 0)),
    # The oldest release beside a bubblewrap that is new enough (Ubuntu 22.04: 1.7.4.1 with
    # 0.6.1); srt itself names none. Measured here: 1.7.4.4.
    Requirement("socat", "socat", "-V", (1, 7, 4)),
)


def locate_system_tools(environ: Mapping[str, str]) -> Mapping[str, SystemTool]:
    """Find the programs without running them: cheap enough for every start.

    Args:
        environ: The caller's environment; only its PATH is read.

    Returns:
        The programs by package name, without versions; none are needed on macOS.

    Raises:
        ToolError: One is missing or not executable; the hint is the command to run.
    """
    needed = REQUIREMENTS if sys.platform == "linux" else ()
    found = {need.name: _look_up(need, environ) for need in needed}
    _refuse({name: reason for name, reason in found.items() if isinstance(reason, str)})
    return {name: tool for name, tool in found.items() if isinstance(tool, SystemTool)}


def check_system_tools(environ: Mapping[str, str]) -> Mapping[str, SystemTool]:
    """Find the programs and ask each for its version.

    Args:
        environ: The caller's environment; only its PATH is read.

    Returns:
        The programs by package name, with versions; none are needed on macOS.

    Raises:
        ToolError: One is missing, not executable, too old or does not answer; the hint is
            the command to run.
    """
    located = locate_system_tools(environ)
    found = {need.name: _ask(need, located[need.name]) for need in REQUIREMENTS if located}
    _refuse({name: reason for name, reason in found.items() if isinstance(reason, str)})
    return {name: tool for name, tool in found.items() if isinstance(tool, SystemTool)}


def _refuse(reasons: Mapping[str, str]) -> None:
    if reasons:
        raise ToolError(
            f"{'; '.join(reasons.values())} (see {_PAGE})",
            install_command(list(reasons), read_release(), root=os.geteuid() == 0),
        )


def _look_up(need: Requirement, environ: Mapping[str, str]) -> SystemTool | str:
    """Find a program, or say why there is none to run."""
    passed_over = None
    for candidate in _candidates(need.program, environ):
        if os.access(candidate, os.X_OK):
            return SystemTool(need.name, candidate, None)
        passed_over = passed_over or candidate
    if passed_over:
        return f"{passed_over} ({need.name}) is there, but not executable for you"
    return f"{need.program} ({need.name}) is not installed, or not on the PATH"


def _candidates(program: str, environ: Mapping[str, str]) -> Iterator[Path]:
    for directory in environ.get("PATH", _DEFAULT_PATH).split(os.pathsep):
        # A relative entry would let a project bring its own sandbox.
        if not os.path.isabs(directory):
            continue
        candidate = Path(directory, program)
        try:
            if stat.S_ISREG(os.stat(candidate).st_mode):
                yield candidate
        except OSError:
            continue


def _ask(need: Requirement, tool: SystemTool) -> SystemTool | str:
    """Learn a program's version, or say why it does not do."""
    try:
        said = subprocess.run(
            [str(tool.path), need.ask],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        if exhausted(error):
            raise
        return f"{tool.path} does not run: {error}"
    version = re.search(r"\d+(?:\.\d+)+", said)
    if version is None:
        return f"{tool.path} {need.ask} tells no version"
    if tuple(int(part) for part in version[0].split(".")) < need.floor:
        floor = ".".join(map(str, need.floor))
        return f"{tool.path} is {need.name} {version[0]}, which is older than {floor}"
    return msgspec.structs.replace(tool, version=version[0])
