"""``homeroom dry-run``: the whole plan of a run, and nothing done."""

import argparse
import contextlib
import json
from collections.abc import Mapping

from homeroom.cli import options

_EPILOG = """\
examples:
  homeroom dry-run                      the plan for this directory
  homeroom dry-run --json               the same for machines (docs/reference/json.md)
  homeroom dry-run -- -p 'hello'        with arguments for the agent

It writes nothing, anywhere, and works on a machine where nothing is installed. Secrets are
shown by kind and by eight digits of a digest, never by value."""


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "dry-run",
        help="print everything that start would do",
        description="Print everything that `homeroom start` would do, without doing any of it.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    options.add_run_options(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(handler=run, takes_arguments=True)


def run(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Print a plan.

    Args:
        arguments: The parsed command line.
        environ: The caller's environment.

    Returns:
        0.

    Raises:
        HomeroomError: The run could not be planned.
    """
    from homeroom import config, home, paths, plan, readiness, worktree
    from homeroom.cli import plan_view
    from homeroom.errors import HomeroomError

    places = paths.locate(environ)
    settings = config.load(places.config_file)
    endpoint = options.UNKNOWN_ENDPOINT if arguments.demo else None
    request = options.request(arguments, settings, places, endpoint)
    decided = plan.make(request, environ, places, settings, home.new_run_id())
    obstacle = readiness.obstacle(decided, environ, places)
    tree = None
    if request.worktree is not None:
        directory, run_id = decided.room.workspace.directory, decided.instance.run_id
        # Where there is no repository, that is the obstacle.
        with contextlib.suppress(HomeroomError):
            tree = worktree.intend(directory, request.worktree or None, run_id, environ)
    document = plan_view.document(decided, obstacle, tree)
    print(json.dumps(document, indent=2) if arguments.json else plan_view.text(document))
    return 0
