"""``homeroom login --status``: which credential a start would use, and what there is."""

import argparse
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from homeroom.cli import login, sources_view
from homeroom.cli.printable import in_one_line

if TYPE_CHECKING:
    from homeroom.adoption import Places
    from homeroom.credential.index import Entry

SCHEMA = 1


def run(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Print the precedence table for one agent, or for all, and the vault's entries.

    Args:
        arguments: The parsed command line.
        environ: The caller's environment.

    Returns:
        0 when a start of the agent (of the default one, when none is named) would use a
        credential, else 1.

    Raises:
        HomeroomError: The configuration or the vault's index cannot be read.
    """
    from homeroom import provider

    around = login.places(environ)
    decisive, _ = login.entry_name(arguments, around)
    shown = [decisive] if arguments.provider else list(provider.names())
    tables = [_table(name, arguments.profile, around) for name in shown]
    entries = [entry for entry in around.vault.entries() if entry.provider in shown]
    document = {
        "schema": SCHEMA,
        "command": "login --status",
        "provider": decisive,
        "logged_in": any(table["used"] for table in tables if table["provider"] == decisive),
        "providers": tables,
        "vault": [entry_document(entry) for entry in entries],
    }
    print(json.dumps(document, indent=2) if arguments.json else _text(document))
    return 0 if document["logged_in"] else 1


def entry_document(entry: "Entry") -> dict[str, Any]:
    """Render a line of the vault's index for machines.

    Args:
        entry: It.
    """
    import msgspec

    return msgspec.structs.asdict(entry)


def _table(name: str, profile: str | None, around: "Places") -> dict[str, Any]:
    from homeroom import choice, provider
    from homeroom.request import Request

    wish = choice.Wish(
        Request(name, profile=profile),
        provider.get(name),
        around.environ,
        around.user_home,
        around.paths,
        around.config,
    )
    sources = sources_view.document(choice.rows(wish))
    used = next((row["source"] for row in sources if row["state"] == "used"), None)
    return {"provider": name, "used": used, "credential_sources": sources}


def _text(document: dict[str, Any]) -> str:
    lines: list[str] = []
    for table in document["providers"]:
        used = table["used"]
        lines.append(f"{table['provider']}: {'logged in' if used else 'NOT LOGGED IN'}")
        lines += [f"  {line}" for line in sources_view.lines(table["credential_sources"])]
        lines.append("")
    lines.append("homeroom's vault")
    lines += [
        f"  {entry['provider']}, profile {entry['profile']}: {sources_view.describe(entry)}"
        for entry in document["vault"]
    ]
    if not document["vault"]:
        lines.append("  is empty: `homeroom login` puts a login into it")
    return "\n".join(map(in_one_line, lines))
