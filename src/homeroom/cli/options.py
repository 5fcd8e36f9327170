"""Options that ``start`` and ``dry-run`` share."""

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from homeroom.config import Config
    from homeroom.paths import Paths
    from homeroom.request import Request

# What a dry run shows in place of the address that the demo's server will get.
UNKNOWN_ENDPOINT = "http://127.0.0.1:0"


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that decide a run.

    Args:
        parser: The command's parser.
    """
    parser.add_argument(
        "agent", nargs="?", help="which agent (default: run.provider of your config.toml)"
    )
    parser.add_argument(
        "-C",
        "--directory",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="where the agent works (default: here)",
    )
    parser.add_argument(
        "--session",
        choices=("container",),
        help="put the room into a container of this machine's Docker as well (needs "
        "homeroom[container])",
    )
    parser.add_argument(
        "--demo",
        action="store_true",
        help="let a model server on this machine answer: no account, no network",
    )
    parser.add_argument(
        "--demo-server",
        metavar="URL",
        help="the same with a model server that runs already, at http://127.0.0.1:PORT",
    )
    parser.add_argument(
        "--profile",
        metavar="NAME",
        help="use this login of homeroom's vault (see `homeroom login --help`)",
    )
    credentials = parser.add_mutually_exclusive_group()
    credentials.add_argument(
        "--api-key-env",
        metavar="NAME",
        help="use the API key in this variable, whatever login there is",
    )
    credentials.add_argument(
        "--no-credentials",
        action="store_true",
        help="start logged out, whatever login there is",
    )
    parser.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME",
        help="pass this variable of yours into the room (may be repeated)",
    )
    parser.add_argument(
        "--allow-untried",
        action="store_true",
        help="use the toolchain's version of srt though it is not one that was tried",
    )
    parser.add_argument(
        "--resume",
        metavar="RUN",
        help="go on with the conversation of an earlier run, in a new room",
    )
    parser.add_argument(
        "--worktree",
        nargs="?",
        const="",
        metavar="BRANCH",
        help="work in a git worktree of the run's own, on this branch or on a new one; it is "
        "removed at the end unless work would be lost",
    )
    parser.add_argument(
        "--discard",
        action="store_true",
        help="with --worktree: remove it at the end with all that is in it",
    )
    parser.add_argument(
        "--seed",
        action="append",
        default=[],
        metavar="NAME",
        choices=("settings", "commands", "agents", "skills", "instructions", "mcp"),
        help="copy this preference of yours into the room: settings, commands, agents, "
        "skills, instructions or mcp (may be repeated)",
    )


def _arguments(arguments: argparse.Namespace, agent: str) -> tuple[str, ...]:
    from homeroom import provider
    from homeroom.errors import UsageError

    prompt = getattr(arguments, "afk", None)
    if prompt is None:
        return tuple(arguments.arguments)
    if not prompt.strip():
        raise UsageError("--afk: the prompt is empty", "say what is to be done")
    if arguments.arguments:
        raise UsageError("--afk gives the agent its arguments: leave out what comes after --")
    return tuple(provider.get(agent).unattended(prompt))


def _agent(arguments: argparse.Namespace, settings: "Config", places: "Paths") -> str:
    from homeroom import choice
    from homeroom.errors import UsageError

    try:
        return choice.named_agent(arguments.agent, settings, places.config_file)
    except UsageError as error:
        hint = f"{error.hint}; a prompt comes after --, as in: homeroom start -- -p 'hello'"
        raise UsageError(error.message, hint) from error


def request(
    arguments: argparse.Namespace,
    settings: "Config",
    places: "Paths",
    endpoint: str | None = None,
) -> "Request":
    """Turn a parsed command line into a request.

    Args:
        arguments: As parsed.
        settings: The user's configuration.
        places: homeroom's directories, where earlier runs are found.
        endpoint: The model server's base URL, for the demo.

    Returns:
        What was asked for.
    """
    from homeroom import provider
    from homeroom.config import VARIABLE
    from homeroom.errors import UsageError
    from homeroom.request import Request
    from homeroom.session import terminal

    given = arguments.demo_server
    if given is not None and not re.fullmatch(r"http://127\.0\.0\.1:[0-9]{1,5}", given):
        raise UsageError(
            f"--demo-server {given}: not a server of this machine", "write http://127.0.0.1:PORT"
        )
    if arguments.discard and arguments.worktree is None:
        raise UsageError(
            "--discard goes with --worktree: nothing else is removed at the end", "add --worktree"
        )
    if not arguments.agent and arguments.worktree in provider.names():
        word = arguments.worktree
        raise UsageError(
            f"--worktree {word}: that would be a branch of the agent's name",
            f"the agent comes first: homeroom start {word} --worktree",
        )
    if arguments.api_key_env and not VARIABLE.fullmatch(arguments.api_key_env):
        # It may be the key itself.
        raise UsageError(
            "--api-key-env: that is not a variable's name",
            "export the key in a variable, and give the name of that: --api-key-env MY_KEY",
        )
    agent = _agent(arguments, settings, places)
    resume = None
    if arguments.resume is not None:
        from homeroom import transcript
        from homeroom.run import find

        earlier = find.one(places, arguments.resume)
        if arguments.agent not in (None, earlier.record.provider):
            raise UsageError(
                f"--resume {arguments.resume}: it was with {earlier.record.provider},"
                f" not with {arguments.agent}"
            )
        agent = earlier.record.provider
        resume = transcript.locate(places, earlier)[1]
    run_id = getattr(arguments, "run_id", None)
    return Request(
        agent=agent,
        arguments=_arguments(arguments, agent),
        resume=resume,
        worktree=arguments.worktree,
        discard=arguments.discard,
        name=getattr(arguments, "name", None),
        run_id=run_id,
        trial=getattr(arguments, "trial", False),
        session="tmux" if run_id else "foreground",
        container=arguments.session == "container",
        limit=getattr(arguments, "timeout", None),
        max_idle=getattr(arguments, "max_idle", None),
        directory=arguments.directory,
        api_key_env=arguments.api_key_env,
        use_credentials=not arguments.no_credentials,
        inherit=tuple(arguments.env),
        seed=tuple(arguments.seed),
        profile=arguments.profile,
        endpoint=given or endpoint,
        unattended=getattr(arguments, "afk", None) is not None,
        interactive=terminal.is_interactive(),
        allow_untried=arguments.allow_untried,
    )
