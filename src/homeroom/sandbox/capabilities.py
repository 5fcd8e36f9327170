"""What each version of srt can be asked for.

Every published version was measured, and the schema in its package read
(``dist/sandbox/sandbox-config.js``); ``tests/sandbox`` reads the packages again. An option
that a version does not know is dropped by it in silence, so that none is ever sent to one.
"""

import msgspec

from homeroom.errors import SandboxError

Version = tuple[int, ...]

# The first that starts no command before its proxy listens (194 of 1,110 first connections
# were refused before), and that takes a path literally. Earlier floors are included in it:
# arguments arrive intact from 0.0.50 on, a bad settings file is refused from 0.0.56 on.
FLOOR: Version = (0, 0, 79)
NEWEST_TRIED: Version = (0, 0, 83)
_PAST = "pass --allow-untried to use it all the same: each run still proves its sandbox"


class Capabilities(msgspec.Struct, frozen=True):
    """Which options a version knows.

    Attributes:
        literal_paths: A path can be marked so that no character is a pattern's (0.0.79).
        program_paths: It can be told where bwrap and socat are (0.0.50).
        host_ports: A host can be allowed on one port alone (0.0.68); before that 0.0.56
            to 0.0.67 refuse the file, and older ones run unconfined.
        allow_read: Exceptions within a denied region (0.0.42).
        parent_proxy: What leaves can be sent on through another proxy (0.0.43).
    """

    literal_paths: bool
    program_paths: bool
    host_ports: bool
    allow_read: bool
    parent_proxy: bool


def parse(version: str) -> Version:
    """Read a version.

    Args:
        version: As ``0.0.83``.

    Returns:
        Its numbers.

    Raises:
        SandboxError: It is not of that form.
    """
    try:
        return tuple(int(part) for part in version.split("."))
    except ValueError:
        raise SandboxError(f"srt {version!r} is not a version that homeroom can judge") from None


def of(version: str) -> Capabilities:
    """Tell what a version can be asked for.

    Args:
        version: As ``0.0.83``.
    """
    numbers = parse(version)
    return Capabilities(
        literal_paths=numbers >= (0, 0, 79),
        program_paths=numbers >= (0, 0, 50),
        host_ports=numbers >= (0, 0, 68),
        allow_read=numbers >= (0, 0, 42),
        parent_proxy=numbers >= (0, 0, 43),
    )


def require_supported(version: str) -> None:
    """Refuse a version that a run must not be trusted to.

    Args:
        version: As ``0.0.83``.

    Raises:
        SandboxError: It is below the floor, or newer than the newest that was tried.
    """
    numbers = parse(version)
    if numbers < FLOOR:
        raise SandboxError(
            f"srt {version} is below the floor, {_text(FLOOR)}",
            f"run `homeroom setup` to install the pinned one, or {_PAST}",
        )
    if numbers > NEWEST_TRIED:
        raise SandboxError(
            f"srt {version} is newer than the newest that was tried, {_text(NEWEST_TRIED)}",
            _PAST,
        )


def _text(version: Version) -> str:
    return ".".join(str(part) for part in version)
