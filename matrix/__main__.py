"""``python -m matrix``: try versions of srt, and say what is new about them."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from homeroom import paths
from homeroom.errors import HomeroomError
from homeroom.toolchain import store

from matrix import catalogue, engine, grid, image, report
from matrix.catalogue import Catalogue, User
from matrix.grid import Cell, Row

_EPILOG = """\
examples:
  nox -s matrix                            every version of container/matrix.toml
  nox -s matrix -- --ci                    the few that the repository's own CI tries
  nox -s matrix -- --srt 0.0.56,0.0.83     these
  nox -s matrix -- --new                   the newest one published
  nox -s matrix -- --list-github           a job list for a CI server

Exit status: 0 no new difference, 1 there is one (or a cell did not run)."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the matrix.

    Returns:
        0, 1, or the code of what kept it from running.
    """
    options = _parser().parse_args(argv)
    try:
        return _run(options)
    except HomeroomError as error:
        print(f"matrix: error: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"matrix: hint: {error.hint}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="matrix",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--srt", help="versions to try, parted by commas")
    parser.add_argument("--ci", action="store_true", help="the versions that CI tries")
    parser.add_argument("--new", action="store_true", help="the newest published version")
    parser.add_argument("--user", choices=("plain", "root", "both"), default="plain")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--limit", type=float, default=180.0, help="seconds for each cell")
    parser.add_argument("--base", help="a base image that is there already")
    parser.add_argument(
        "--output", type=Path, default=Path("matrix-results"), help="where reports go"
    )
    parser.add_argument(
        "--list-github", action="store_true", help="print a job list and do nothing"
    )
    return parser


def _run(options: argparse.Namespace) -> int:
    known = catalogue.load(image.ROOT / "container" / "matrix.toml")
    if options.list_github:
        print(json.dumps({"include": [{"srt": version} for version in known.srt.versions]}))
        return 0
    toolchain = store.require(paths.locate(os.environ), os.environ)
    versions = _versions(options, known, toolchain)
    users: list[User] = ["plain", "root"] if options.user == "both" else [options.user]
    client = image.connect()
    engine.remove_leftovers(client)
    base = image.ensure_base(client, options.base, _tell)
    options.output.mkdir(parents=True, exist_ok=True)
    cells: list[Cell] = []
    with (
        image.context(toolchain, versions, _tell) as context,
        engine.Engine(client, limit=options.limit, logs=options.output).session() as runner,
        ThreadPoolExecutor(options.jobs) as pool,
    ):
        jobs = []
        for version in versions:
            _tell(f"building srt {version}")
            built = image.build(client, base, context, version)
            jobs += [pool.submit(runner.run, built, version, user) for user in users]
        for job in as_completed(jobs):
            cell = job.result()
            cells.append(cell)
            _tell(
                f"{len(cells)} of {len(jobs)}: srt {cell.version} as {cell.user}, {cell.seconds:.1f} s"
            )
    return _report(cells, known, options.output)


def _versions(
    options: argparse.Namespace, known: Catalogue, toolchain: store.Toolchain
) -> list[str]:
    if options.srt:
        return [word.strip() for word in options.srt.split(",") if word.strip()]
    if options.new:
        return [image.newest_version(toolchain)]
    return list(known.srt.ci if options.ci else known.srt.versions)


def _report(cells: list[Cell], known: Catalogue, output: Path) -> int:
    from homeroom.sandbox.capabilities import parse

    ordered = sorted(cells, key=lambda cell: (parse(cell.version), cell.user))
    rows: list[Row] = [grid.judge(cell, known) for cell in ordered]
    for name, render in (
        ("matrix.md", report.markdown),
        ("matrix.json", report.as_json),
        ("matrix.xml", report.junit),
        ("matrix.html", report.page),
    ):
        (output / name).write_text(render(rows), encoding="utf-8")
    print(report.text(rows))
    print(f"reports: {output}/matrix.html and .md, .json, .xml; logs beside them")
    return 1 if grid.has_failed(rows) else 0


def _tell(line: str) -> None:
    print(f"matrix: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
