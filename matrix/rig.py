"""Everything that a cell needs, made once: the engine, the base, and each image when asked for."""

import contextlib
import itertools
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from homeroom import paths
from homeroom.files import explain
from homeroom.sandbox.capabilities import FLOOR, parse
from homeroom.toolchain import store
from matrix import engine, image, owner, package, sbom
from matrix.context import Context, Recipe
from matrix.engine import Engine
from matrix.grid import Cell, Try
from matrix.package import Packages
from matrix.suite import Suite

if TYPE_CHECKING:
    import docker

_PREFIX = "homeroom-matrix-"


@dataclass(frozen=True)
class Wish:
    """How cells are run.

    Attributes:
        output: Where logs and bills of materials go.
        packages: Packed packages of the user's own, which win over published ones.
        base: A base image of the user's own.
        jobs: How many cells run at once.
        limit: How long one may take, in seconds.
        use_cache: Whether images and layers that are there are taken.
        suite: Which of the hermetic tests each cell of a version of srt runs.
    """

    output: Path
    packages: tuple[Path, ...] = ()
    base: str | None = None
    jobs: int = 1
    limit: int = 300
    use_cache: bool = True
    suite: Suite = "sandbox"


@dataclass(frozen=True)
class Rig:
    """What runs cells; made by ``rig``.

    Attributes:
        client: The container engine.
        packages: Where srt comes from.
        context: What images are made of.
        base: The base image's id.
        runner: Runs a cell in an image.
        pool: Where cells run beside each other.
        wish: How.
        tell: Says a line about long work.
    """

    client: "docker.DockerClient"
    packages: Packages
    context: Context
    base: str
    runner: Engine
    pool: ThreadPoolExecutor
    wish: Wish
    tell: Callable[[str], None]

    def run(self, tries: Sequence[Try]) -> list[Cell]:
        """Run a cell for each try, while the next image is built.

        Args:
            tries: What to try, and as whom.

        Returns:
            The cells, in the order of the tries.

        Raises:
            HomeroomError: A version does not exist, or its image could not be made.
        """
        recipes = {each.recipe: self._find(each.recipe) for each in tries}
        missing = [recipe.srt for recipe, found in recipes.items() if found is None]
        self.packages.require(missing)
        ended = itertools.count(1)

        def work(identity: str, tried: Try) -> Cell:
            cell = self.runner.run(identity, tried, self._suite(tried))
            how = f"did not run: {cell.error}" if cell.error else f"{cell.seconds:.1f} s"
            self.tell(f"{next(ended)} of {len(tries)}: {tried}, {how}")
            self._write_bill(cell)
            return cell

        jobs = []
        for recipe, found in recipes.items():
            identity = found or self._build(recipe)
            jobs += [self.pool.submit(work, identity, t) for t in tries if t.recipe == recipe]
        return [job.result() for job in jobs]

    def _suite(self, tried: Try) -> Suite:
        # Below the floor a start refuses, and so would every test that starts a room.
        return self.wish.suite if parse(tried.srt) >= FLOOR else "none"

    def image(self, recipe: Recipe) -> str:
        """Give the image of a recipe, made when it is not there."""
        return self._find(recipe) or self._build(recipe)

    def _find(self, recipe: Recipe) -> str | None:
        key = self.context.key(self.base, recipe)
        return image.find(self.client, key) if self.wish.use_cache else None

    def _build(self, recipe: Recipe) -> str:
        self.tell(f"building the image of {recipe}")
        begin = time.monotonic()
        made = image.build(
            self.client, self.base, self.context, recipe, use_cache=self.wish.use_cache
        )
        self.tell(f"built the image of {recipe}, {time.monotonic() - begin:.1f} s")
        return made

    def _write_bill(self, cell: Cell) -> None:
        if cell.packages:
            path = self.wish.output / f"{cell.tried.stem}.cdx.json"
            bill = sbom.document(str(cell.tried.recipe), cell.packages)
            path.write_text(bill, encoding="utf-8")


@contextlib.contextmanager
def rig(wish: Wish) -> Iterator[Rig]:
    """Make everything, and leave no container and no file of it behind.

    Args:
        wish: How cells are run.

    Raises:
        HomeroomError: There is no engine, no toolchain, no base, or a package is none.
    """
    client = engine.connect()
    if left := engine.remove_leftovers(client):
        tell(f"removed {left} containers of a matrix that was killed")
    toolchain = store.require(paths.locate(os.environ), os.environ)
    local = {package.version_of(path): path for path in wish.packages}
    packages = Packages(toolchain, local)
    base = image.ensure_base(client, wish.base, tell)
    try:
        wish.output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise explain(error, wish.output, "make") from error
    runner = Engine(client, limit=wish.limit, logs=wish.output)
    with (
        _scratch() as directory,
        # Left in this order: first the containers go, then the threads that wait for them.
        ThreadPoolExecutor(wish.jobs) as pool,
        runner.session(),
    ):
        context = Context(packages, directory, tell)
        yield Rig(client, packages, context, base, runner, pool, wish, tell)


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    """Make a directory; remove it afterwards, and those of matrices that were killed."""
    for mark in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/owner"):
        with contextlib.suppress(OSError):
            if owner.is_gone(mark.read_text(encoding="utf-8")):
                shutil.rmtree(mark.parent)
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name:
        Path(name, "owner").write_text(owner.name(), encoding="utf-8")
        yield Path(name)


def tell(line: str) -> None:
    """Say a line about long work, on standard error."""
    print(f"matrix: {line}", file=sys.stderr, flush=True)
