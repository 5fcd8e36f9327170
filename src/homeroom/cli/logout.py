"""``homeroom logout``: remove a login from homeroom's vault."""

import argparse
import json
from collections.abc import Mapping

from homeroom.cli import login

_EPILOG = """\
examples:
  homeroom logout                   the default agent's default login
  homeroom logout --profile work    another one

Only homeroom's copy is removed: the key, token or grant stays valid at the provider, and the
agent's own login on this machine stays as it is. Revoke a key on the provider's site."""


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "logout",
        help="remove a login from homeroom's vault",
        description="Remove a login from homeroom's vault; nothing is revoked at the provider.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    login.add_entry_options(parser)
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Remove an entry; that there is none is no error.

    Args:
        arguments: The parsed command line.
        environ: The caller's environment.

    Returns:
        0.

    Raises:
        HomeroomError: The vault cannot be changed; the entry is still there.
    """
    around = login.places(environ)
    name, profile = login.entry_name(arguments, around)
    removed = around.vault.delete(name, profile)
    if arguments.json:
        document = {"provider": name, "profile": profile, "removed": removed}
        print(json.dumps({"schema": 1, "command": "logout", **document}, indent=2))
    elif removed:
        print(f"removed the login of {name}, profile {profile}; at the provider it stays valid")
    else:
        print(f"there is no login of {name}, profile {profile}, in homeroom's vault")
    return 0
