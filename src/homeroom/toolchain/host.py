"""Which of the pinned builds this machine takes."""

import os
import sys

from homeroom.errors import ToolError

PLATFORMS = (
    "linux-x64",
    "linux-arm64",
    "linux-x64-musl",
    "linux-arm64-musl",
    "darwin-x64",
    "darwin-arm64",
)
# What uname(2) says, as Node.js calls it (process.arch).
_MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


def platform_key() -> str:
    """Name this machine as the pins do.

    Returns:
        One of ``PLATFORMS``.

    Raises:
        ToolError: There are no builds for such a machine.
    """
    machine = os.uname().machine
    libc = "-musl" if sys.platform == "linux" and not _has_glibc() else ""
    key = f"{sys.platform}-{_MACHINES.get(machine.lower(), machine)}{libc}"
    if key not in PLATFORMS:
        raise ToolError(
            f"there is no toolchain for {sys.platform} on {machine}",
            f"use one of {', '.join(PLATFORMS)}",
        )
    return key


def _has_glibc() -> bool:
    # confstr(3): only glibc knows the name; musl answers EINVAL.
    try:
        return bool(os.confstr("CS_GNU_LIBC_VERSION"))
    except (ValueError, OSError):
        return False
