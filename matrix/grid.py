"""Results put side by side, and each difference judged: known, or new."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from homeroom.sandbox.behaviours import BEHAVIOURS, Behaviour
from homeroom.sandbox.capabilities import FLOOR, parse
from matrix.agents import Agent
from matrix.catalogue import Catalogue, User
from matrix.context import Recipe
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
    Behaviour("option.mask-file", "A masked file is a stand-in", "open"),
)
SRT_COLUMNS = (
    *(row for row in BEHAVIOURS if not row.name.startswith("leftovers.")),
    *MORE,
    *(row for row in BEHAVIOURS if row.name.startswith("leftovers.")),
    Behaviour("suite.hermetic", "The hermetic tests pass", "open"),
)
# What a cell observes of an agent that really starts.
AGENT_COLUMNS = (
    Behaviour("agent.prompt", "The agent is at its prompt, no dialog before it", "open"),
    Behaviour("agent.answers", "One prompt is answered, and nothing else is printed", "open"),
    Behaviour("agent.acts", "What the agent is told to write is in the workspace", "open"),
    Behaviour("agent.leaves", "Its room and its processes are gone", "open"),
)
COLUMNS = (*SRT_COLUMNS, *AGENT_COLUMNS)

Verdict = Literal["same", "known", "new", "unexplained", "not-run"]


@dataclass(frozen=True)
class Try:
    """What a cell tries: an image, as a user.

    Attributes:
        srt: The version of srt.
        user: As whom.
        agent: The agent that is started in it; None to try srt alone.
    """

    srt: str
    user: User
    agent: Agent | None = None

    @property
    def recipe(self) -> Recipe:
        """What its image holds."""
        return Recipe(self.srt, () if self.agent is None else (self.agent,))

    @property
    def columns(self) -> Sequence[Behaviour]:
        """What it is about."""
        return SRT_COLUMNS if self.agent is None else AGENT_COLUMNS

    @property
    def stem(self) -> str:
        """The beginning of the names of its image's files."""
        return self.srt if self.agent is None else f"{self.srt}-{'-'.join(self.agent)}"

    @property
    def head(self) -> str:
        """What the grid calls it, besides the user."""
        return self.srt if self.agent is None else f"{self.srt} {self.agent}"

    def __str__(self) -> str:
        return f"{self.recipe} as {self.user}"


@dataclass(frozen=True)
class Cell:
    """One try, done.

    Attributes:
        tried: What was tried.
        seen: What was observed, by behaviour; empty when it did not run.
        seconds: How long it took.
        error: Why it did not run.
        packages: What is installed in its image: kind, name, version.
    """

    tried: Try
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
        return parse(self.cell.tried.srt) >= FLOOR

    @property
    def by_name(self) -> Mapping[str, Square]:
        """The squares by their behaviours' names; of what it is not about there are none."""
        return {square.behaviour.name: square for square in self.squares}

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
        squares = [Square(column, cell.error, "not-run") for column in cell.tried.columns]
        return Row(cell, squares)
    return Row(cell, [_square(cell, column, catalogue) for column in cell.tried.columns])


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _square(cell: Cell, behaviour: Behaviour, catalogue: Catalogue) -> Square:
    seen = cell.seen.get(behaviour.name) or cell.seen.get("trial") or "not tried"
    entry = catalogue.explain(cell.tried.srt, behaviour.name, cell.tried.user)
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
