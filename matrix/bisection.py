"""``python -m matrix.bisection``: which version of srt was the first to change a behaviour."""

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from homeroom.errors import ToolError, UsageError
from homeroom.sandbox.capabilities import parse
from matrix import options
from matrix.catalogue import User
from matrix.grid import SRT_COLUMNS, Cell, Try
from matrix.rig import Rig, rig, tell

_EPILOG = """\
examples:
  nox -s bisect -- network.other-host
  nox -s bisect -- race.first-request --good 0.0.83 --bad 0.0.60
  nox -s bisect -- read.user-home --good 0.0.83 --package broken-srt.tgz

Exit status: 0 found, 1 the two ends do not differ."""
# The first for which a room can be made at all (allowRead).
_OLDEST = "0.0.42"
# What changes from one run to the next and says nothing: numbers, and names made at random.
_VOLATILE = re.compile(r"/\S+|[0-9]+|[0-9a-f]{8,}")

Look = Callable[[str], str | None]


@dataclass(frozen=True)
class Change:
    """Two neighbours that differ.

    Attributes:
        before: The last version that is as the first end.
        after: The first that is not.
        skipped: Versions between them that could not be looked at.
    """

    before: str
    after: str
    skipped: tuple[str, ...] = ()


def search(versions: Sequence[str], look: Look) -> Change | None:
    """Find two neighbours that differ, in about log2(n) looks.

    Args:
        versions: In order; the first and the last are the two ends.
        look: Tells what a version does, None where it cannot be told; asked once for each.

    Returns:
        The change, or None when the ends do not differ.

    Raises:
        UsageError: An end cannot be looked at.
    """
    low, high = 0, len(versions) - 1
    first, last = look(versions[low]), look(versions[high])
    if first is None or last is None:
        raise UsageError(f"srt {versions[low if first is None else high]} did not run")
    if first == last:
        return None
    dark: set[int] = set()
    while middle := _nearest(low, high, dark):
        seen = look(versions[middle])
        if seen is None:
            dark.add(middle)
        elif seen == first:
            low = middle
        else:
            high = middle
    between = tuple(versions[low + 1 : high])
    return Change(versions[low], versions[high], between)


def _nearest(low: int, high: int, dark: set[int]) -> int | None:
    """Give the place nearest to the middle that is strictly between and not dark."""
    places = [place for place in range(low + 1, high) if place not in dark]
    return min(places, key=lambda place: abs(place - (low + high) / 2), default=None)


def kind(seen: str) -> str:
    """Make what was seen comparable: a message that names other files is the same message."""
    return seen if seen in ("open", "refused") or seen.isdigit() else _VOLATILE.sub("…", seen)


def main(argv: Sequence[str] | None = None) -> int:
    """Bisect.

    Returns:
        0, 1, or the code of what kept it from running.
    """
    parser = argparse.ArgumentParser(
        prog="bisect",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "behaviour",
        choices=[column.name for column in SRT_COLUMNS],
        metavar="BEHAVIOUR",
        help="its name, as in matrix.json",
    )
    parser.add_argument("--good", metavar="VERSION", help=f"one end (default: {_OLDEST})")
    parser.add_argument(
        "--bad", metavar="VERSION", help="the other (default: your package's, or the newest)"
    )
    options.add(parser)
    parser.set_defaults(jobs=1)
    arguments = parser.parse_args(argv)
    if arguments.user == "both":
        parser.error("--user both: one at a time")
    return options.guarded(lambda: _run(arguments))


def _run(arguments: argparse.Namespace) -> int:
    if not arguments.behaviour.startswith("suite."):
        arguments.suite = "none"
    with rig(options.wish(arguments)) as made:
        versions = _between(arguments, made)
        looks = _Looks(made, arguments.behaviour, arguments.user)
        change = search(versions, looks)
        ends = (versions[0], versions[-1]) if change is None else (change.before, change.after)
        if change is not None:
            looks.confirm(ends)
    for version in ends:
        print(f"srt {version}: {looks.show(version)}")
    if change is None:
        print(f"{arguments.behaviour} does not differ between srt {ends[0]} and {ends[1]}")
        return 1
    if change.skipped:
        print(f"did not run: {', '.join(change.skipped)}; the first to differ may be one of them")
    print(f"the first version with another {arguments.behaviour} is srt {change.after}")
    return 0


def _between(arguments: argparse.Namespace, made: Rig) -> list[str]:
    local = list(made.packages.local)
    known = sorted({*made.packages.published(), *local}, key=parse)
    good = arguments.good or _OLDEST
    bad = arguments.bad or (local or known)[-1]
    for version in (good, bad):
        if version not in known:
            raise UsageError(f"there is no srt {version}", f"the newest is {known[-1]}")
    low, high = sorted((known.index(good), known.index(bad)))
    if low == high:
        raise UsageError(f"both ends are srt {good}", "name two versions by --good and --bad")
    versions = known[low : high + 1]
    return versions if good == versions[0] else versions[::-1]


class _Looks:
    """What each version did, each tried when it is asked for."""

    def __init__(self, made: Rig, behaviour: str, user: User) -> None:
        self._rig = made
        self._behaviour = behaviour
        self._user = user
        self._cells: dict[str, Cell] = {}

    def __call__(self, version: str) -> str | None:
        if version not in self._cells:
            (self._cells[version],) = self._rig.run([Try(version, self._user)])
            tell(f"srt {version}: {self._seen(self._cells[version]) or 'did not run'}")
        seen = self._seen(self._cells[version])
        return None if seen is None else kind(seen)

    def _seen(self, cell: Cell) -> str | None:
        if cell.error:
            return None
        # Where nothing starts, why is what there is to see.
        return cell.seen.get(self._behaviour) or cell.seen.get("command.starts", "not tried")

    def confirm(self, versions: Sequence[str]) -> None:
        """Try versions once more, and refuse what does not come out the same.

        Raises:
            ToolError: One does now this, now that.
        """
        for version in versions:
            before = self(version)
            del self._cells[version]
            if self(version) != before:
                raise ToolError(
                    f"{self._behaviour} of srt {version} is not the same each time",
                    "a race cannot be bisected; look at the logs of several runs",
                )

    def show(self, version: str) -> str:
        """Tell what a version did, in its own words."""
        cell = self._cells[version]
        return f"{self._seen(cell)}  (log: {self._rig.wish.output}/{version}-{self._user}.log)"


if __name__ == "__main__":
    sys.exit(main())
