"""Cells and catalogues as tests need them."""

from matrix.agents import Agent
from matrix.catalogue import Catalogue, Expected, Srt, User
from matrix.grid import COLUMNS, Cell, Try

GOOD = {column.name: column.expected for column in COLUMNS}


AGENT = Agent("some-agent", "1.2.3")


def cell(
    version: str = "0.0.83", user: User = "plain", agent: Agent | None = None, **seen: str
) -> Cell:
    """Make a cell that saw everything as it must be, but for what is given (``a__b`` is a.b)."""
    given = {name.replace("__", ".").replace("_", "-"): what for name, what in seen.items()}
    return Cell(Try(version, user, agent), GOOD | given, 1.0)


def catalogue(*expected: Expected) -> Catalogue:
    """Make a catalogue of known differences."""
    return Catalogue(Srt(versions=("0.0.83",), ci=("0.0.83",)), expected=expected)


def expect(
    versions: str, *behaviours: str, user: User | None = None, may: bool = False
) -> Expected:
    """Make a known difference."""
    return Expected(versions, behaviours, "a reason", user=user, may=may)
