"""What a run may read, write and reach, as one immutable value."""

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from homeroom.errors import ConfigError

# Each entry is a mount: 200 cost 0.4 s, 800 cost 2.8 s (srt 0.0.83).
_PARTS_LIMIT = 200


class Policy(msgspec.Struct, frozen=True):
    """The rules of one sandbox. Everything that no rule names can be read, not written.

    Attributes:
        deny_read: Directories (or files) whose content the run must not see.
        allow_read: Exceptions within them. None is an ancestor of an allow_write that is
            not itself listed: srt 0.0.44 to 0.0.83 turn such a write read-only.
        allow_write: Directories that the run may write to; they exist.
        deny_write: Exceptions within them; they exist.
        hosts: Names, or ``name:port``, that the run may connect to through the proxy.
    """

    deny_read: tuple[Path, ...]
    allow_read: tuple[Path, ...]
    allow_write: tuple[Path, ...]
    deny_write: tuple[Path, ...]
    hosts: tuple[str, ...]

    def is_readable(self, path: Path) -> bool:
        """Tell whether the most specific rule for a real path lets a run read it."""
        denied = _depth(path, self.deny_read)
        return denied < 0 or _depth(path, (*self.allow_read, *self.allow_write)) >= denied

    def is_writable(self, path: Path) -> bool:
        """Tell whether a run may write to a real path."""
        return (
            _depth(path, self.allow_write) >= 0
            and _depth(path, self.deny_write) < 0
            and self.is_readable(path)
        )


def _depth(path: Path, rules: Iterable[Path]) -> int:
    """Count the parts of the longest rule that holds the path; -1 where none does."""
    return max((len(rule.parts) for rule in rules if path.is_relative_to(rule)), default=-1)


def reduced(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Drop duplicates and what lies below another entry, keeping the order.

    Args:
        paths: Real paths.

    Returns:
        The outermost ones.
    """
    unique = list(dict.fromkeys(paths))
    return tuple(
        path
        for path in unique
        if not any(other != path and path.is_relative_to(other) for other in unique)
    )


def existing(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Resolve paths and drop those that do not exist, which no sandbox can deny or open."""
    return tuple(Path(os.path.realpath(path)) for path in paths if os.path.exists(path))


def around(paths: Iterable[Path], holes: Iterable[Path]) -> tuple[Path, ...]:
    """Name the same trees without certain directories in them.

    srt turns a writable directory read-only when a readable one above it is re-opened
    within a denied region; so the readable one is named by its parts instead.

    Args:
        paths: Real directories or files.
        holes: Real directories that no returned path may be above of.

    Returns:
        The paths; one that is above a hole is replaced by the entries beside the hole.

    Raises:
        ConfigError: A directory on the way cannot be listed, or has too many entries.
    """
    result: list[Path] = []
    pending = list(paths)
    holes = tuple(holes)
    while pending:
        path = pending.pop(0)
        if path in holes:
            continue
        if not any(hole.is_relative_to(path) for hole in holes):
            result.append(path)
            continue
        try:
            entries = sorted(os.listdir(path))
        except OSError as error:
            raise ConfigError(
                f"files.read: {path} holds the workspace and cannot be listed: {error.strerror}",
                "name narrower directories",
            ) from error
        if len(entries) > _PARTS_LIMIT:
            raise ConfigError(
                f"files.read: {path} holds the workspace and {len(entries)} other entries, "
                f"more than {_PARTS_LIMIT} that the sandbox could open one by one",
                "name narrower directories",
            )
        pending += [path / entry for entry in entries if not os.path.islink(path / entry)]
    return tuple(dict.fromkeys(result))
