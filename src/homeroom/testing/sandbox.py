"""The contract of the sandbox seam, as tests that an adapter's own test inherits.

Each behaviour of ``homeroom.sandbox.behaviours`` is one test. All are observed by a few runs
of the sandbox, once for a class, because each start of one costs time.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from homeroom import home, paths, provider
from homeroom.check.model import Surroundings
from homeroom.check.sandbox import bench as bench_of
from homeroom.sandbox import Host, Sandbox, behaviours
from homeroom.sandbox.behaviours import BEHAVIOURS, SECRETS, Behaviour, Bench
from homeroom.sandbox.srt import Srt
from homeroom.testing.samples import write_files

if TYPE_CHECKING:
    import pytest

EVERY_BEHAVIOUR = (*BEHAVIOURS, *SECRETS)
# One file of each kind that a run must not be able to read, below the user's home.
_OF_HOME = (".ssh/id_ed25519", ".aws/credentials", ".netrc", "notes.txt")


class SandboxContract(ABC):
    """What every sandbox keeps: the real srt, of any version, and any other adapter.

    Attributes:
        violates: Names of behaviours that this one is known not to have, a deliberately
            broken sandbox for one: each of them must fail, and every other one hold.
    """

    violates: ClassVar[Collection[str]] = ()
    _kept: ClassVar[dict[type[SandboxContract], Mapping[str, str]]] = {}

    @abstractmethod
    def bench(self, root: Path) -> Bench:
        """Make what the behaviours are tried with; ``sample_bench`` makes most of it.

        Args:
            root: An empty directory with a short path.
        """

    def observed(self, root: Callable[[], Path]) -> Mapping[str, str]:
        """Try everything, once for the class.

        Args:
            root: Makes an empty directory.
        """
        kept = self._kept
        if type(self) not in kept:
            place = root()
            scratch = place / "scratch"
            scratch.mkdir(mode=0o700)
            kept[type(self)] = behaviours.observe(self.bench(place), scratch)
        return kept[type(self)]


def _obligation(behaviour: Behaviour) -> Callable[..., None]:
    def test(self: SandboxContract, tmp_path_factory: pytest.TempPathFactory) -> None:
        seen = self.observed(lambda: tmp_path_factory.mktemp("t"))
        difference = behaviours.difference(behaviour, seen)
        if behaviour.name in self.violates:
            assert difference is not None, f"{behaviour.title}: it holds, against what is said"
        else:
            assert difference is None, difference

    test.__doc__ = f"{behaviour.title}."
    return test


for _each in EVERY_BEHAVIOUR:
    _name = _each.name.replace(".", "_").replace("-", "_")
    setattr(SandboxContract, f"test_{_name}", _obligation(_each))


def sample_bench(root: Path, toolchain: Path, adapter: Callable[[Host], Sandbox] = Srt) -> Bench:
    """Make a user's machine with a secret of each kind, and the rules of a start on it.

    Args:
        root: An empty directory with a short path.
        toolchain: An installed one.
        adapter: Makes the sandbox that is tried.
    """
    environ = {
        "HOME": str(root / "home"),
        "HOMEROOM_HOME": str(root / "r"),
        "HOMEROOM_TOOLCHAIN": str(toolchain),
        "PATH": os.environ["PATH"],
    }
    places = paths.locate(environ)
    user = root / "home"
    stores = [provider.get(name).master_store(environ, user) for name in provider.names()]
    secrets = [str(path.relative_to(user)) for store in stores for path in store.secrets]
    write_files(user, dict.fromkeys((*_OF_HOME, *secrets), "{}\n"))
    kept = (f"runs/{home.new_run_id()}.json", "vault/index.json")
    write_files(places.state, dict.fromkeys(kept, '{"schema": 1}\n'))
    for path in (root / "r", *(root / "r").rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    planned = root / "planned"
    planned.mkdir()
    return bench_of(Surroundings(environ, places), planned, adapter)


def violated(seen: Mapping[str, str]) -> set[str]:
    """Name the behaviours that a sandbox has not, of those that were tried.

    Args:
        seen: As ``behaviours.observe`` gives it.
    """
    return {
        behaviour.name
        for behaviour in EVERY_BEHAVIOUR
        if behaviour.name in seen and behaviours.difference(behaviour, seen) is not None
    }
