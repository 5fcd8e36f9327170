"""``python -m matrix``: try versions of srt, and say what is new about them."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from homeroom import provider
from homeroom.files import explain
from homeroom.sandbox.capabilities import NEWEST_TRIED, parse
from matrix import catalogue, engine, grid, image, options, report
from matrix.agents import Agent, pinned
from matrix.catalogue import Catalogue
from matrix.context import ROOT, Recipe
from matrix.grid import Cell, Try
from matrix.package import version_of
from matrix.rig import Rig, rig, tell

_EPILOG = """\
examples:
  nox -s matrix                            every version of container/matrix.toml
  nox -s matrix -- --ci                    the few that the repository's own CI tries
  nox -s matrix -- --srt 0.0.56,0.0.83     these
  nox -s matrix -- --claude 2.1.214        an agent's real program, in the pinned srt
  nox -s matrix -- --package srt.tgz       a package of your own (npm pack makes one)
  nox -s matrix -- --new                   the newest one published
  python -m matrix --list-github           a job list for a CI server
  nox -s matrix -- --image                 the image of homeroom itself, for `docker run`
  nox -s matrix -- --clean                 remove every image that a matrix made

Exit status: 0 no new difference, 1 there is one (or a cell did not run)."""


def _jobs(known: Catalogue) -> dict[str, str]:
    """Name what can run beside each other, each with its words for the command line."""
    agents = ((name, version) for name in known.agents for version in known.agents[name])
    return {
        **{f"srt {version}": f"--srt {version}" for version in known.srt.versions},
        **{f"{name} {version}": f"--{name} {version}" for name, version in agents},
    }


def _github_jobs(known: Catalogue) -> object:
    return {"include": [{"name": n, "words": words} for n, words in _jobs(known).items()]}


def _gitlab_jobs(known: Catalogue) -> object:
    """Make a pipeline: what GitLab runs is read from a file, and JSON is YAML."""
    return {
        name: {
            "image": "python:3.11-bookworm",
            "timeout": "20 minutes",
            "script": [f"sh nox.sh -s matrix -- {words} --user both --output results"],
            "artifacts": {
                "when": "always",
                "paths": ["results"],
                "reports": {"junit": "results/matrix.xml"},
            },
        }
        for name, words in _jobs(known).items()
    }


_JOBS = {"github": _github_jobs, "gitlab": _gitlab_jobs}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the matrix.

    Returns:
        0, 1, or the code of what kept it from running.
    """
    arguments = _parser().parse_args(argv)
    return options.guarded(lambda: _run(arguments))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="matrix",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--srt", metavar="VERSIONS", help="versions to try, parted by commas; latest is one"
    )
    which.add_argument("--ci", action="store_true", help="the versions that CI tries")
    which.add_argument("--new", action="store_true", help="the newest published version")
    for server in _JOBS:
        words = f"print its jobs for {server.title()}, do nothing"
        which.add_argument(
            f"--list-{server}", dest="jobs_for", action="store_const", const=server, help=words
        )
    which.add_argument(
        "--image", action="store_true", help="make the image of homeroom itself, try nothing"
    )
    which.add_argument("--clean", action="store_true", help="remove what matrices have made")
    for name in provider.names():
        words = f"versions of {name} to start, in the pinned srt or in those of --srt"
        parser.add_argument(f"--{name}", metavar="VERSIONS", help=words)
    options.add(parser)
    return parser


def _run(arguments: argparse.Namespace) -> int:
    known = catalogue.load(ROOT / "container" / "matrix.toml")
    if arguments.jobs_for:
        print(json.dumps(_JOBS[arguments.jobs_for](known)))
        return 0
    if arguments.clean:
        return _clean()
    with rig(options.wish(arguments)) as made:
        if arguments.image:
            return _image(made)
        cells = made.run(_tries(arguments, known, made))
    return _report(cells, known, arguments.output)


def _tries(arguments: argparse.Namespace, known: Catalogue, made: Rig) -> list[Try]:
    """Give each version of srt, or each agent in them, as each user."""
    users = options.users(arguments)
    pinned = made.packages.toolchain.tools["srt"].version
    versions = _versions(arguments, known, made)
    agents = _agents({name: _words(getattr(arguments, name)) for name in provider.names()})
    if agents:
        return [Try(v, u, agent) for v in versions or [pinned] for agent in agents for u in users]
    if versions:
        return [Try(version, user) for version in versions for user in users]
    tries = [Try(version, user) for version in known.srt.versions for user in users]
    return tries + [Try(pinned, u, agent) for agent in _agents(known.agents) for u in users]


def _agents(wanted: Mapping[str, Sequence[str]]) -> list[Agent]:
    return [Agent(name, version) for name, versions in wanted.items() for version in versions]


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def _versions(arguments: argparse.Namespace, known: Catalogue, made: Rig) -> list[str]:
    """Give the versions of srt that are asked for, none when none is named."""
    local = [version_of(path) for path in arguments.package]
    if arguments.srt:
        # "latest" is whatever is published as the newest at this moment.
        asked = [
            made.packages.published()[-1] if word == "latest" else word
            for word in _words(arguments.srt)
        ]
    elif arguments.new:
        asked = made.packages.published()[-1:]
        if parse(asked[0]) <= NEWEST_TRIED:
            tell(
                f"nothing newer than srt {asked[0]} is published, which is known; it is tried again"
            )
    elif arguments.ci:
        asked = list(known.srt.ci)
    else:
        asked = []
    return sorted({*asked, *local}, key=parse)


def _image(made: Rig) -> int:
    """Make the image of homeroom, with every pinned tool."""
    toolchain = made.packages.toolchain
    agents = tuple(pinned(toolchain, name) for name in provider.names())
    made.image(Recipe(toolchain.tools["srt"].version, agents, "room"))
    print(image.ROOM)
    return 0


def _clean() -> int:
    client = engine.connect()
    containers, images = engine.remove_leftovers(client), image.remove_all(client)
    tell(f"removed {containers} containers and {images} images")
    return 0


def _order(cell: Cell) -> tuple[object, ...]:
    agent = cell.tried.agent
    return (agent is not None, parse(cell.tried.srt), agent or (), cell.tried.user)


def _report(cells: list[Cell], known: Catalogue, output: Path) -> int:
    ordered = sorted(cells, key=_order)
    rows = [grid.judge(cell, known) for cell in ordered]
    try:
        for name, render in report.FILES.items():
            (output / name).write_text(render(rows), encoding="utf-8")
    except OSError as error:
        raise explain(error, error.filename or output, "write") from error
    print(report.text(rows))
    print(f"reports: {output}/matrix.html and .md, .json, .xml; logs and bills beside them")
    return 1 if grid.has_failed(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
