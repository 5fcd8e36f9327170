"""``homeroom login``: put a login into homeroom's vault, or show which one is used."""

import argparse
import json
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from homeroom.cli.telling import tell
from homeroom.errors import UsageError

if TYPE_CHECKING:
    from homeroom.adoption import Places
    from homeroom.credential.index import Entry
    from homeroom.credential.secret import CredentialKind, Secret
    from homeroom.login import Desk

_DESCRIPTION = """\
Log in to an agent's provider, into homeroom's own vault. The agent's own login on this
machine is neither used nor changed."""

_EPILOG = """\
examples:
  homeroom login                          the agent's own login, in a room of its own
  homeroom login --api-key                ask for an API key, without showing it
  homeroom login --api-key < key.txt      the same from standard input
  homeroom login --token                  a long-lived token
  homeroom login --adopt                  copy the login that the agent itself has
  homeroom login --profile work           another login beside the default one
  homeroom login --status                 which credential a start would use, and why

The vault is the desktop's keyring where there is one, else a file that only you can read.
`--status` ends with 0 if a start would use a credential, with 1 if not.
Details: docs/how-to/log-in.md, docs/reference/credentials.md."""

_LONGEST = 64 * 1024
NO_KEY = (
    "a key or token is asked for, without showing it, or read from standard input: on a command "
    "line others could see it"
)


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "login",
        help="log in to an agent's provider",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_entry_options(parser)
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--api-key", action="store_true", help="ask for an API key")
    ways.add_argument("--token", action="store_true", help="ask for a long-lived token")
    ways.add_argument("--adopt", action="store_true", help="copy the agent's own login")
    ways.add_argument("--status", action="store_true", help="show what a start would use")
    parser.add_argument(
        "--offline",
        action="store_true",
        help="with --api-key and --token: do not ask the provider whether it is good",
    )
    parser.set_defaults(handler=run)


def add_entry_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name an entry of the vault, and the output.

    Args:
        parser: The command's parser.
    """
    parser.add_argument(
        "provider", nargs="?", help="which agent (default: run.provider of your config.toml)"
    )
    parser.add_argument("--profile", metavar="NAME", help="which of your logins (default: default)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Log in, or show what a start would use.

    Args:
        arguments: The parsed command line.
        environ: The caller's environment.

    Returns:
        0; of ``--status`` 1 when no credential would be used; 128+n when signal n came
        while a secret was being entered.

    Raises:
        HomeroomError: Nobody is logged in; the message says why.
    """
    if arguments.status:
        from homeroom.cli import login_status

        return login_status.run(arguments, environ)
    from homeroom.toolchain.interrupt import Interrupted, interruptible

    desk = _desk(arguments, environ)
    desk.make_ready()
    try:
        if arguments.api_key or arguments.token:
            with interruptible():
                entry = _enter(desk, arguments)
        elif arguments.adopt:
            entry = _adopt(desk)
        else:
            entry = _by_agent(desk)
    except Interrupted as interrupted:
        tell(f"ended by a signal ({interrupted}); nothing was saved")
        return 128 + interrupted.number
    _report(entry, as_json=arguments.json)
    return 0


def places(environ: Mapping[str, str]) -> "Places":
    """Find the master stores that a command works with.

    Raises:
        ConfigError: The user's configuration cannot be read.
        StateError: There is no home.
    """
    from homeroom import adoption, config, paths, rules

    own = paths.locate(environ)
    settings = config.load(own.config_file)
    return adoption.Places(own, settings, environ, rules.user_homes(environ)[0])


def entry_name(arguments: argparse.Namespace, around: "Places") -> tuple[str, str]:
    """Tell which entry of the vault a command is about: its provider and profile.

    Raises:
        UsageError: There is no such agent, or the profile's name cannot be one.
    """
    from homeroom import choice
    from homeroom.credential.vault import DEFAULT_PROFILE

    try:
        name = choice.named_agent(arguments.provider, around.config, around.paths.config_file)
    except UsageError as error:
        if getattr(arguments, "api_key", False) or getattr(arguments, "token", False):
            raise UsageError(error.message, NO_KEY) from error
        raise
    named = choice.named_profile(arguments.profile, around.environ, around.config)
    return name, named[0] if named else DEFAULT_PROFILE


def _desk(arguments: argparse.Namespace, environ: Mapping[str, str]) -> "Desk":
    from homeroom import login, provider

    around = places(environ)
    name, profile = entry_name(arguments, around)
    return login.Desk(provider.get(name), profile, around, tell)


def _enter(desk: "Desk", arguments: argparse.Namespace) -> "Entry":
    from homeroom import login

    kind: CredentialKind = "api-key" if arguments.api_key else "token"
    named = "API key" if arguments.api_key else "long-lived token"
    secret = _ask(f"{named} of {desk.provider.name} (it is not shown): ")
    return login.by_secret(desk, kind, secret, offline=arguments.offline)


def _ask(prompt: str) -> "Secret":
    """Read a secret, unseen from a terminal, else the whole of standard input."""
    from homeroom.credential.secret import Secret

    if os.isatty(0):
        text = _ask_unseen(prompt)
    else:
        content = sys.stdin.buffer.read(_LONGEST + 1)
        try:
            text = content.decode()
        except UnicodeDecodeError:
            raise UsageError("what came on standard input is not UTF-8") from None
    text = text.strip()
    if not text or len(text) > _LONGEST or "\n" in text:
        raise UsageError(
            "that is not one line with a key or token", "paste it alone, whole, and nothing else"
        )
    return Secret(text)


def _ask_unseen(prompt: str) -> str:
    import getpass
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)
            return getpass.getpass(prompt, sys.stderr)
    except getpass.GetPassWarning:
        raise UsageError(
            "this terminal cannot hide what you type", "give it on standard input instead"
        ) from None
    except EOFError:
        return ""


def _adopt(desk: "Desk") -> "Entry":
    from homeroom import login

    entry = login.by_adoption(desk)
    if entry.kind == "oauth":
        tell("the vault has a copy now that nobody renews; the agent's own login goes on as before")
    return entry


def _by_agent(desk: "Desk") -> "Entry":
    from homeroom import login
    from homeroom.session.signals import Signals

    if not os.isatty(0):
        raise UsageError(
            "the agent's own login needs a terminal",
            "use --api-key or --token, which read standard input, or --adopt",
        )
    tell(f"{desk.provider.name} logs in, in a room of its own; follow what it says")
    with Signals() as signals:
        return login.by_agent(desk, signals)


def _report(entry: "Entry", *, as_json: bool) -> None:
    from homeroom.cli import sources_view

    if as_json:
        from homeroom.cli import login_status

        document = {"schema": 1, "command": "login", "entry": login_status.entry_document(entry)}
        print(json.dumps(document, indent=2))
        return
    row = {
        "kind": entry.kind,
        "digest": entry.digest,
        "store": entry.store,
        "expires_at": entry.expires_at,
    }
    print(f"logged in to {entry.provider}, profile {entry.profile}: {sources_view.describe(row)}")
