"""``homeroom`` alone: where you are, and the next command."""

import argparse
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import msgspec

from homeroom import __version__
from homeroom.errors import HomeroomError

if TYPE_CHECKING:
    from homeroom.config import Config
    from homeroom.paths import Paths

SCHEMA = 1

State = Literal["not-set-up", "no-credential", "ready", "broken"]
_SAY: Mapping[State, str] = {
    "not-set-up": "not set up yet",
    "no-credential": "set up, and not logged in",
    "ready": "ready",
    "broken": "something is in the way",
}


class Whereabouts(msgspec.Struct, frozen=True):
    """Where the user is.

    Attributes:
        state: How far they have come.
        next: The command that leads on, or None where a problem has no command.
        agent: Which agent a start would start, where that is known.
        credential: What it would log in with, where there is something.
        problem: What is in the way.
        hint: What to do about that.
        alive: How many runs are alive.
    """

    state: State
    next: str | None
    agent: str | None = None
    credential: str | None = None
    problem: str | None = None
    hint: str | None = None
    alive: int = 0


def run(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Print where the user is.

    Args:
        arguments: Only whether the output is for machines.
        environ: The caller's environment.

    Returns:
        0, whatever there is to say.
    """
    found = look(environ)
    if arguments.json:
        print(
            json.dumps(
                {"schema": SCHEMA, "version": __version__, **msgspec.structs.asdict(found)},
                indent=2,
            )
        )
    else:
        print(_text(found))
    return 0


def look(environ: Mapping[str, str]) -> Whereabouts:
    """Find out where the user is: no program is run, no keyring asked, nothing written.

    Args:
        environ: The caller's environment.
    """
    from homeroom import config, paths

    try:
        places = paths.locate(environ)
        settings = config.load(places.config_file)
        return _look(environ, places, settings)
    except HomeroomError as error:
        return Whereabouts("broken", None, problem=error.message, hint=error.hint)


def _look(environ: Mapping[str, str], places: "Paths", settings: "Config") -> Whereabouts:
    from homeroom import choice, provider, rules
    from homeroom.errors import ToolError
    from homeroom.request import Request
    from homeroom.run import lock
    from homeroom.toolchain import store
    from homeroom.toolchain.system import locate_system_tools

    alive = sum(lock.is_held(path) for path in places.runs.glob("run_*.lock"))
    agent = choice.named_agent(None, settings, places.config_file)
    try:
        store.require(places, environ)
        locate_system_tools(environ)
    except ToolError as error:
        problem, hint = error.message, error.hint
        return Whereabouts(
            "not-set-up", "homeroom setup", agent, problem=problem, hint=hint, alive=alive
        )
    adapter, home = provider.get(agent), rules.user_homes(environ)[0]
    rows = choice.rows(choice.Wish(Request(agent), adapter, environ, home, places, settings))
    for row in rows:
        if row.state == "unusable":
            hint = "homeroom login --status shows every place that a login is looked for in"
            return Whereabouts("broken", None, agent, problem=row.problem, hint=hint, alive=alive)
        if row.state == "used":
            return Whereabouts("ready", "homeroom start", agent, row.source, alive=alive)
    return Whereabouts("no-credential", f"homeroom login {agent}", agent, alive=alive)


def _text(found: Whereabouts) -> str:
    lines = [f"homeroom {__version__}: {_SAY[found.state]}"]
    if found.credential:
        lines.append(f"  {found.agent}, with {found.credential}")
    if found.problem:
        lines.append(f"  {found.problem}")
    if found.alive:
        lines.append(f"  {found.alive} {'run is' if found.alive == 1 else 'runs are'} alive")
    lines.append("")
    if found.next:
        lines.append(f"next:  {found.next}")
    if found.hint and found.hint != found.next:
        lines.append(f"hint:  {found.hint}")
    if found.state == "no-credential":
        lines.append("or:    homeroom start --demo -- -p 'hello'   (no account, no network)")
    return "\n".join([*lines, "help:  homeroom --help"])
