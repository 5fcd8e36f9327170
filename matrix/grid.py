"""Results put side by side, and each difference judged: known, or new."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from homeroom.sandbox.behaviours import BEHAVIOURS, Behaviour
from homeroom.sandbox.capabilities import FLOOR, parse
from matrix.catalogue import Catalogue, User
from matrix.inventory import Package

# What a cell observes besides the behaviours that a room depends on.
MORE = (
    Behaviour("settings.bad-refused", "A settings file that is no JSON is refused", "refused"),
    Behaviour("settings.missing-refused", "A missing settings file is refused", "refused"),
    Behaviour("race.first-request", "The first connection reaches the proxy", "open"),
    Behaviour("stdin.large", "Four megabytes of input arrive", "open"),
    Behaviour("terminal.size", "The command sees the terminal and its size", "open"),
    Behaviour("option.control-fd", "A control descriptor is accepted", "open"),
    Behaviour("option.mask-variable", "A masked variable is a stand-in", "open"),
)
COLUMNS = (
    *(row for row in BEHAVIOURS if not row.name.startswith("leftovers.")),
    *MORE,
    *(row for row in BEHAVIOURS if row.name.startswith("leftovers.")),
)

Verdict = Literal["same", "known", "new", "unexplained", "not-run"]


@dataclass(frozen=True)
class Cell:
    """One version as one user.

    Attributes:
        version: Of srt.
        user: As whom it ran.
        seen: What was observed, by behaviour; empty when it did not run.
        seconds: How long it took.
        error: Why it did not run.
        packages: What is installed in its image: kind, name, version.
    """

    version: str
    user: User
    seen: Mapping[str, str]
    seconds: float = 0.0
    error: str | None = None
    packages: Sequence[Package] = ()


@dataclass(frozen=True)
class Square:
    """One behaviour of one cell.

    Attributes:
        behaviour: The statement.
        seen: What was observed.
        verdict: "same" as it must be; "known" to differ; "new" difference; "unexplained":
            an entry says that it differs, and it does not.
        reason: Of a known difference.
        link: Where to read about it.
    """

    behaviour: Behaviour
    seen: str
    verdict: Verdict
    reason: str | None = None
    link: str | None = None


@dataclass(frozen=True)
class Row:
    """A judged cell."""

    cell: Cell
    squares: Sequence[Square] = field(default_factory=tuple)

    @property
    def is_supported(self) -> bool:
        """Whether ``start`` supports the version."""
        return parse(self.cell.version) >= FLOOR

    @property
    def failures(self) -> list[Square]:
        """Squares that fail the matrix."""
        return [square for square in self.squares if square.verdict in ("new", "unexplained")]


def judge(cell: Cell, catalogue: Catalogue) -> Row:
    """Judge everything that a cell saw.

    Args:
        cell: The cell; what it says is a version's own words, so that of these only
            printable characters are kept.
        catalogue: What is known to differ.
    """
    cell = replace(
        cell,
        seen={name: _printable(what) for name, what in cell.seen.items()},
        error=None if cell.error is None else _printable(cell.error),
    )
    if cell.error is not None:
        squares = [Square(column, cell.error, "not-run") for column in COLUMNS]
        return Row(cell, squares)
    return Row(cell, [_square(cell, column, catalogue) for column in COLUMNS])


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _square(cell: Cell, behaviour: Behaviour, catalogue: Catalogue) -> Square:
    seen = cell.seen.get(behaviour.name) or cell.seen.get("trial") or "not tried"
    entry = catalogue.explain(cell.version, behaviour.name, cell.user)
    if seen == behaviour.expected:
        # A pattern explains a whole region; only a name promises that this one differs.
        if entry is not None and not entry.may and behaviour.name in entry.behaviours:
            return Square(behaviour, seen, "unexplained", f"said to differ: {entry.reason}")
        return Square(behaviour, seen, "same")
    if entry is not None:
        return Square(behaviour, seen, "known", entry.reason, entry.link)
    return Square(behaviour, seen, "new")


def has_failed(rows: Sequence[Row]) -> bool:
    """Tell whether any difference is new, or any cell did not run."""
    return any(row.failures or row.cell.error for row in rows)
