"""Which versions are tried, and where they are known to differ: ``container/matrix.toml``."""

import fnmatch
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from homeroom.errors import ConfigError
from homeroom.sandbox.capabilities import Version, parse

User = Literal["plain", "root"]
_OPERATORS = ("<=", ">=", "==", "<", ">")


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A difference that is known.

    Attributes:
        versions: A constraint, as ``>=0.0.42 <0.0.68``.
        behaviours: Names, or patterns with ``*``.
        reason: Why it differs.
        user: As which user; None for both.
        may: Whether it only sometimes differs, as a race does.
        link: Where to read about it.
    """

    versions: str
    behaviours: tuple[str, ...]
    reason: str
    user: User | None = None
    may: bool = False
    link: str | None = None

    def covers(self, version: str, behaviour: str, user: User) -> bool:
        """Tell whether it is about a behaviour of a version, as a user."""
        return (
            (self.user is None or self.user == user)
            and satisfies(version, self.versions)
            and any(fnmatch.fnmatchcase(behaviour, pattern) for pattern in self.behaviours)
        )


class Srt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The versions of srt."""

    versions: tuple[str, ...]
    ci: tuple[str, ...]


class Catalogue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file.

    Attributes:
        srt: The versions of srt.
        agents: Versions of agents, by name; each is started in the pinned srt.
        expected: The differences that are known.
    """

    srt: Srt
    agents: Mapping[str, tuple[str, ...]] = {}
    expected: tuple[Expected, ...] = ()

    def explain(self, version: str, behaviour: str, user: User) -> Expected | None:
        """Find what says that a behaviour differs; None when it must not."""
        found = (entry for entry in self.expected if entry.covers(version, behaviour, user))
        return next(found, None)


def load(path: Path) -> Catalogue:
    """Read the file.

    Args:
        path: The file.

    Raises:
        ConfigError: It cannot be read or says something unknown; it is named.
    """
    try:
        catalogue = msgspec.convert(tomllib.loads(path.read_text()), Catalogue)
        for entry in catalogue.expected:
            satisfies("0.0.0", entry.versions)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: {error}") from error
    return catalogue


def satisfies(version: str, constraint: str) -> bool:
    """Tell whether a version lies within a constraint.

    Args:
        version: As ``0.0.83``.
        constraint: Comparisons, all of which must hold, parted by spaces.

    Raises:
        ValueError: A comparison cannot be read.
    """
    return all(_compare(parse(version), word) for word in constraint.split())


def _compare(version: Version, word: str) -> bool:
    operator = next((symbol for symbol in _OPERATORS if word.startswith(symbol)), None)
    if operator is None:
        raise ValueError(f"{word!r} is not a comparison, as >=0.0.50")
    other = parse(word.removeprefix(operator))
    return {
        "<": version < other,
        "<=": version <= other,
        "==": version == other,
        ">=": version >= other,
        ">": version > other,
    }[operator]
