"""The precedence table of credentials, for machines and for people."""

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from homeroom.choice import Row

_HOUR = 3600.0
_DAY = 24 * _HOUR


def document(rows: "Iterable[Row]") -> list[dict[str, Any]]:
    """Render the table for machines; ``docs/reference/json.md`` describes every key.

    Args:
        rows: In their order.

    Returns:
        One object a row; no secret is in it.
    """
    return [
        {
            "origin": row.origin,
            "source": row.source,
            "state": row.state,
            "kind": row.summary.kind if row.summary else None,
            "digest": row.summary.digest if row.summary else None,
            "expires_at": row.summary.expires_at if row.summary else None,
            "store": row.summary.store if row.summary else None,
            "problem": row.problem,
        }
        for row in rows
    ]


def lines(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Render the same for people.

    Args:
        rows: As made for machines.
    """
    marks = {"used": "->", "unusable": "!!"}
    return [
        f"{marks.get(row['state'], '  ')} {row['origin']:<12} {row['source']}: {_what(row)}"
        for row in rows
    ]


def _what(row: Mapping[str, Any]) -> str:
    if row["problem"] is not None:
        return f"unusable: {row['problem']}"
    if row["state"] == "absent":
        return "-"
    what = "none, as asked" if row["kind"] is None else describe(row)
    return what if row["state"] == "used" else f"{what} (not used: another comes first)"


def describe(row: Mapping[str, Any]) -> str:
    """Tell a credential's kind, digest, place and time left in a few words.

    Args:
        row: With the keys ``kind``, ``digest``, ``store`` and ``expires_at``.
    """
    words = [str(row["kind"]), f"digest {row['digest']}"]
    if row["store"] is not None:
        words.append(f"in the {row['store']}" if row["store"] == "keyring" else "in a file")
    if row["expires_at"] is not None:
        words.append(time_left(row["expires_at"] - time.time()))
    return ", ".join(words)


def time_left(seconds: float) -> str:
    """Tell how long an access token still works."""
    if seconds <= 0:
        return "access token expired"
    for unit, size in (("days", _DAY), ("hours", _HOUR), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"access token good for {seconds / size:.0f} {unit}"
    return "access token good for a minute"
