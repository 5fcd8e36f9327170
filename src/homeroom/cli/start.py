"""``homeroom start``: a run in the foreground."""

import argparse
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from homeroom.cli import options
from homeroom.cli.telling import tell

if TYPE_CHECKING:
    from homeroom import paths
    from homeroom.config import Config

_LONGEST = 10 * 365 * 86400.0
# With 34, srt's Node.js cannot start its parts; an agent opens more than that.
_FEWEST_FILES = 64
_EPILOG = """\
examples:
  homeroom start                          the agent's own prompt, on this directory
  homeroom start -- -p 'fix the typo'     one answer on stdout, for scripts and pipes
  homeroom start --demo -- -p 'hello'     the same with a model server of your own machine
  homeroom start -C ~/src/app --env DATABASE_URL
  homeroom start --api-key-env MY_KEY     use the API key in $MY_KEY
  homeroom start --profile work           use that login of `homeroom login --profile work`
  homeroom start --session container      the same room, in a container as well

What comes after -- is the agent's. Its exit status is returned; homeroom's own failures
use 65 to 78 (docs/reference/exit-codes.md). homeroom itself writes to stderr only."""


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "start",
        help="start an agent in a room of its own",
        description="Start an agent in a private, sandboxed room that is wiped when it ends.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    options.add_run_options(parser)
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print the whole plan and do nothing (see `homeroom dry-run --help`)",
    )
    parser.add_argument(
        "--json", action="store_true", help="with --dry-run: print the plan as JSON"
    )
    held = parser.add_argument_group("unattended runs")
    held.add_argument(
        "--detach",
        action="store_true",
        help="start it in a session of its own, which outlives this terminal (needs tmux)",
    )
    held.add_argument("--name", metavar="NAME", help="what to call it, in list, attach and stop")
    held.add_argument(
        "--afk",
        metavar="PROMPT",
        help="give it this to do, without anybody to ask: it ends on its own",
    )
    held.add_argument(
        "--timeout",
        type=_seconds,
        metavar="TIME",
        help="end it after this long, in seconds or as 5m, 2h or 1d (status 124)",
    )
    held.add_argument(
        "--max-idle",
        type=_seconds,
        metavar="TIME",
        help="end it when its transcript has not grown for this long (status 124)",
    )
    # For a session that was told to hold a run: its id was made up by who told it.
    parser.add_argument("--run-id", help=argparse.SUPPRESS)
    # For `check`: nobody wants to see afterwards that it tried an agent.
    parser.add_argument("--trial", action="store_true", help=argparse.SUPPRESS)
    parser.set_defaults(handler=run, takes_arguments=True)


def run(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Start a run and wait for it.

    Args:
        arguments: The parsed command line.
        environ: The caller's environment.

    Returns:
        The agent's exit status.

    Raises:
        HomeroomError: The run could not be started, or not be cleaned up after.
    """
    if arguments.dry_run:
        from homeroom.cli import dry_run

        return dry_run.run(arguments, environ)
    if arguments.json:
        from homeroom.errors import UsageError

        raise UsageError("--json goes with --dry-run: a run's output is the agent's own")
    from homeroom import config, launch, paths
    from homeroom.session.signals import Signals

    _require_descriptors()
    places = paths.locate(environ)
    settings = config.load(places.config_file)
    if arguments.detach:
        return _detach(arguments, environ, places, settings)
    with Signals() as signals:
        _sweep(places, settings, environ)
        signals.check()
        request = options.request(arguments, settings, places)
        if not arguments.demo or arguments.demo_server:
            return launch.start(request, environ, places, settings, signals, tell)
        import msgspec

        from homeroom import demo
        from homeroom.toolchain import store

        with demo.model_server(store.require(places, environ)) as endpoint:
            request = msgspec.structs.replace(request, endpoint=endpoint)
            return launch.start(request, environ, places, settings, signals, tell)


def _require_descriptors() -> None:
    """Refuse a limit with which the tools fail, each in words of its own.

    Raises:
        StorageError: It is too low.
    """
    import errno
    import resource

    from homeroom.errors import StorageError, advice

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit != resource.RLIM_INFINITY and limit < _FEWEST_FILES:
        lacking = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        raise StorageError(
            f"only {limit} files may be open at once, and a run needs more: {lacking.strerror}",
            advice(lacking),
        )


def _detach(
    arguments: argparse.Namespace,
    environ: Mapping[str, str],
    places: "paths.Paths",
    settings: "Config",
) -> int:
    """Start the same command in a session of its own, and say how to come back to it."""
    from homeroom import detach, home, notice, plan, readiness
    from homeroom.errors import StorageError
    from homeroom.run import find
    from homeroom.session.signals import Signals

    # What is wrong is said here, and not in a session that nobody looks at.
    endpoint = options.UNKNOWN_ENDPOINT if arguments.demo else None
    request = options.request(arguments, settings, places, endpoint)
    find.refuse_taken(places, request.name)
    decided = plan.make(request, environ, places, settings, home.new_run_id())
    readiness.require(decided, environ, places)
    notice.warn_of_logout(decided.instance.place, tell)
    own = [word for word in arguments.own if word != "--detach"]
    # Until it is named: what comes meanwhile ends it, or finds it running and named.
    with Signals() as signals:
        record = detach.start(
            [*own, "--", *arguments.arguments] if arguments.arguments else own,
            environ,
            places,
            Path.cwd(),
            request.name,
            decided.provider.name,
            signals,
            decided.instance.place,
        )
        short = shlex.quote(record.name or record.run_id[:12])
        unsaid = None
        try:
            print(record.run_id, flush=True)
        except OSError as error:
            unsaid = error
        tell(f"it runs; `homeroom attach {short}` shows it, `homeroom stop {short}` ends it")
    notice.warn_of_no_login(decided, short, tell)
    if isinstance(unsaid, BrokenPipeError):
        raise unsaid
    if unsaid is not None:
        # Whoever wanted the id has not got it, and must not take the run for one that is not.
        raise StorageError(
            f"{record.run_id} runs, but its id could not be written: {unsaid.strerror}",
            f"homeroom stop {short}",
        ) from unsaid
    return 0


def _seconds(text: str) -> float:
    from homeroom.cli.span import seconds

    try:
        found = seconds(text) if text[-1:].isalpha() else float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < _LONGEST:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: write 90, 90s, 5m, 2h or 1d")
    return found


def _sweep(places: "paths.Paths", settings: "Config", environ: Mapping[str, str]) -> None:
    """Remove what dead runs left, now and then; a failure is told and hinders no start."""
    from homeroom import adoption, aftermath, rules
    from homeroom.run import sweep

    if not places.state.exists() or not sweep.is_due(places):
        return
    masters = adoption.Places(places, settings, environ, rules.user_homes(environ)[0])
    for entry in aftermath.sweep_dead(places, places=masters, tell=tell).entries:
        if entry.verdict in ("removed", "failed"):
            tell(f"sweep: {entry.verdict} {entry.name}: {entry.reason}")
