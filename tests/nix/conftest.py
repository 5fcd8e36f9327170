"""homeroom's flake, run by a real Nix in a store that is thrown away afterwards.

nixpkgs is not needed: ``stub`` answers in its place with this machine's programs.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, Self

import pytest

from tests.conftest import REGISTRIES
from tests.support.git import git
from tests.support.tree import remove_tree

ROOT = Path(__file__).parent.parent.parent
STUB = Path(__file__).parent / "stub"
NIX_VARIABLE = "HOMEROOM_NIX"
SYSTEMS = {
    "x86_64-linux": "linux-x64",
    "aarch64-linux": "linux-arm64",
    "x86_64-darwin": "darwin-x64",
    "aarch64-darwin": "darwin-arm64",
}
# What the stub's packages are links to.
PROGRAMS = ("bash", "bwrap", "git", "socat", "tmux", "which")
_TIMEOUT = 240.0


@dataclass(frozen=True)
class Flake:
    """A copy of the repository, and a Nix that runs its flake.

    Attributes:
        directory: The copy, a git repository of its own.
        stub: The stand-in for nixpkgs.
        nix: The program.
        env: The whole environment of each command.
    """

    directory: Path
    stub: Path
    nix: Path
    env: dict[str, str]

    @property
    def own_nixpkgs(self) -> tuple[str, str, str]:
        """The options that put the stub in nixpkgs' place."""
        return ("--override-input", "nixpkgs", f"path:{self.stub}")

    def try_to(
        self, *words: str | Path, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run one command of Nix and look at how it ends."""
        return subprocess.run(
            [self.nix, *words],
            cwd=cwd or self.directory,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
            check=False,
        )

    def call(self, *words: str | Path, cwd: Path | None = None) -> str:
        """Run one command of Nix that succeeds."""
        done = self.try_to(*words, cwd=cwd)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run(self, app: str, *arguments: str) -> str:
        """Run an app of the flake that succeeds."""
        return self.call("run", *self.own_nixpkgs, f".#{app}", "--", *arguments)

    def evaluate(self, attribute: str, *options: str) -> Any:
        """Give a value of the flake."""
        return json.loads(
            self.call("eval", "--json", *self.own_nixpkgs, f".#{attribute}", *options)
        )

    def evaluate_with(self, expression: str) -> Any:
        """Give the value of an expression in which ``flake`` is the flake, on the stub."""
        locked = self.call("flake", "metadata", "--json", *self.own_nixpkgs)
        whole = json.loads(locked)["url"]
        loaded = (
            f'let locked = builtins.getFlake "{whole}"; stub = builtins.getFlake "path:{self.stub}";'
            f" flake = (import {self.directory}/flake.nix).outputs"
            f" {{ self = locked // flake; nixpkgs = stub; }};"
        )
        return json.loads(
            self.call("eval", "--impure", "--json", "--expr", f"{loaded} in {expression}")
        )

    def copy(self, target: Path) -> Self:
        """Copy the repository once more, for a test that changes it."""
        shutil.copytree(self.directory, target, symlinks=True)
        return replace(self, directory=target)


@pytest.fixture(scope="session")
def flake() -> Iterator[Flake]:
    """The flake of this repository, with a cold store that all tests share."""
    nix = os.environ.get(NIX_VARIABLE)
    if not nix:
        pytest.fail(f"{NIX_VARIABLE} names no Nix: run these tests by `sh nox.sh -s nix`")
    # Not below the tests' own directory: rooms are made below a home, and no home may hold
    # the store, which every room reads.
    scratch = Path(tempfile.mkdtemp(prefix="homeroom-nix-", dir=os.path.realpath("/tmp")))
    try:
        yield _prepare(scratch, Path(nix))
    finally:
        remove_tree(scratch)


def _prepare(scratch: Path, nix: Path) -> Flake:
    directory, stub, home = scratch / "homeroom", scratch / "nixpkgs", scratch / "home"
    home.mkdir(mode=0o700)
    _copy_repository(directory)
    shutil.copytree(STUB, stub)
    (stub / "host.json").write_text(json.dumps(_host(), indent=2))
    inherited = {name: value for name, value in os.environ.items() if REGISTRIES.fullmatch(name)}
    env = inherited | {
        "HOME": str(home),
        "HOMEROOM_HOME": str(home / "homeroom"),
        "LANG": "C.UTF-8",
        "NIX_CONFIG": _configuration(),
        "PATH": os.environ["PATH"],
        "TERM": "dumb",
        **{f"NIX_{kind.upper()}_DIR": str(scratch / kind) for kind in ("conf", "log", "state")},
        "NIX_STORE_DIR": str(scratch / "store"),
    }
    return Flake(directory, stub, nix, env)


def _copy_repository(target: Path) -> None:
    """Copy what git has or would have: a flake sees nothing else."""
    listed = git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, set(listed.split("\0"))):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name, follow_symlinks=False)
    git(target, "init", "-q", "-b", "main")
    git(target, "add", "--all")


def _host() -> dict[str, Any]:
    return {
        "programs": {name: shutil.which(name) for name in PROGRAMS} | {"python": sys.executable},
        "python_packages": sorted(
            {found.name.lower().replace("_", "-") for found in distributions()}
        ),
    }


def _configuration() -> str:
    # The build sandbox shows the host's programs, because the stub's packages are links to
    # them, and of the rest nothing: no home, no other store, and no network but for what has
    # a fixed hash.
    python = {sys.prefix, sys.base_prefix}
    shown = {"/usr", "/etc", "/bin=/usr/bin", "/lib=/usr/lib", "/lib64=/usr/lib64"}
    found = sorted(name for name in shown if Path(name.rpartition("=")[2]).is_dir())
    below = [path for path in python if not path.startswith("/usr/")]
    return "\n".join(
        [
            "experimental-features = nix-command flakes",
            "sandbox = true",
            f"sandbox-paths = {' '.join([*found, *sorted(below)])}",
            "substituters =",
            "build-users-group =",
            "flake-registry =",
            "warn-dirty = false",
            "max-jobs = 2",
        ]
    )
