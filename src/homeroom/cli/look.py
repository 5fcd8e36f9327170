"""``commands`` and ``open``: what a run offers, and where it can be seen."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from homeroom.cli.printable import in_one_line
from homeroom.cli.telling import tell

if TYPE_CHECKING:
    from homeroom.paths import Paths
    from homeroom.provider import SlashCommand


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the commands to the parser."""
    listing = commands.add_parser(
        "commands",
        help="list the slash commands and skills of a run",
        description="List the slash commands and skills that a run has of the user's and of the "
        "project's; the agent's own built-in ones come on top of them.",
        allow_abbrev=False,
    )
    listing.add_argument("run", nargs="?", help="a live run's name, id, or a beginning of that")
    listing.add_argument("--workspace", type=Path, metavar="DIR", help="of a fresh room there")
    listing.add_argument("--json", action="store_true", help="print one JSON document")
    listing.set_defaults(handler=_commands)
    opening = commands.add_parser(
        "open",
        help="open a run's conversation on the vendor's site",
        description="Print the address of a run's conversation on the vendor's site, and open it.",
        allow_abbrev=False,
    )
    opening.add_argument("run", help="a live run's name, id, or a beginning of that")
    opening.add_argument("--print", action="store_true", help="only print the address")
    opening.set_defaults(handler=_open)


def _commands(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    from homeroom import home, paths, provider
    from homeroom.errors import UsageError
    from homeroom.run import find

    places = paths.locate(environ)
    if (arguments.run is None) == (arguments.workspace is None):
        raise UsageError("name a run, or a directory with --workspace", "homeroom list")
    if arguments.run is not None:
        record = find.one(places, arguments.run, alive=True).record
        agent, workspace = provider.get(record.provider), Path(record.workspace)
        room = home.instance_of(places, record.run_id).home
        found = [_entry(one) for one in agent.commands(room, workspace)]
    else:
        found = _in_fresh_room(places, arguments.workspace, environ)
    if arguments.json:
        print(json.dumps({"schema": 1, "commands": found}, indent=2))
        return 0
    for one in found:
        print(in_one_line(f"/{one['name']:<24} {one['kind']:<8} {one['origin']}"))
    if not found:
        print("none")
    return 0


def _in_fresh_room(
    places: "Paths", directory: Path, environ: Mapping[str, str]
) -> list[dict[str, str | None]]:
    """List what a run that began there now would have, its user's preferences included."""
    from homeroom import choice, config, provider, rules
    from homeroom.errors import WorkspaceError
    from homeroom.provider.common import apply

    if not directory.is_dir():
        raise WorkspaceError(f"{directory} is not a directory", "name one with --workspace")
    settings = config.load(places.config_file)
    agent = provider.get(choice.named_agent(None, settings, places.config_file))
    chosen = tuple(dict.fromkeys(settings.seed.include))
    user_home = rules.user_homes(environ)[0]
    import tempfile

    with tempfile.TemporaryDirectory(prefix="homeroom-commands-") as scratch:
        room = Path(scratch)
        for seed in agent.preferences(environ, user_home, chosen, hooks=settings.seed.hooks):
            apply(room, seed)
        return [_entry(one, scratch) for one in agent.commands(room, directory.resolve())]


def _entry(one: "SlashCommand", scratch: str | None = None) -> dict[str, str | None]:
    path = None if one.path is None else str(one.path)
    if path is not None and scratch is not None:
        path = path.replace(scratch, "~", 1)
    return {"name": one.name, "kind": one.kind, "origin": one.origin, "path": path}


def _open(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    from homeroom import home, paths, provider
    from homeroom.errors import UsageError
    from homeroom.run import find

    places = paths.locate(environ)
    record = find.one(places, arguments.run, alive=True).record
    link = provider.get(record.provider).deep_link(home.instance_of(places, record.run_id).home)
    if link is None:
        raise UsageError(f"{record.run_id} has no conversation yet", "say something to it first")
    if link.is_generic:
        tell(
            "this run has no address of its own (remote control is off): the list of "
            "all conversations is opened instead"
        )
    print(link.url)
    if not arguments.print:
        import webbrowser

        webbrowser.open(link.url)
    return 0
