"""homeroom's flake, run by a real Nix in a store that is thrown away afterwards.

nixpkgs is not needed: ``stub`` answers in its place with this machine's programs.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
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
        """Give the value of an expression that may name ``flake`` and ``stub``."""
        return json.loads(self.call("eval", "--json", *self._expression(expression)))

    def build_with(self, expression: str) -> str:
        """Build what an expression gives, and say where it is."""
        told = self.call(
            "build", "--no-link", "--print-out-paths", "-L", *self._expression(expression)
        )
        return told.strip()

    def _expression(self, text: str) -> tuple[str, ...]:
        # getFlake takes no other inputs than the locked ones, and these need nixpkgs.
        names = (
            f'stub = builtins.getFlake "path:{self.stub}";'
            f" flake = (import {self.directory}/flake.nix).outputs"
            f" {{ self = flake // {{ outPath = {self.directory}; }}; nixpkgs = stub; }};"
        )
        return ("--impure", "--expr", f"let {names} in {text}")

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
    if os.geteuid() == 0:
        pytest.fail("root's builds could write into the directories of the host that they see")
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
    (scratch / "build").mkdir(mode=0o700)
    _copy_repository(directory)
    shutil.copytree(STUB, stub)
    (stub / "host.json").write_text(json.dumps(_host(), indent=2))
    inherited = {name: value for name, value in os.environ.items() if REGISTRIES.fullmatch(name)}
    env = inherited | {
        "HOME": str(home),
        "HOMEROOM_HOME": str(home / "homeroom"),
        "LANG": "C.UTF-8",
        "NIX_CONFIG": _configuration(scratch / "build"),
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
    installed = {package.name.lower().replace("_", "-") for package in distributions()}
    return {
        # Real paths: the build sandbox shows /usr, and not what Debian's alternatives go through.
        "programs": {name: os.path.realpath(str(shutil.which(name))) for name in PROGRAMS},
        "python": {
            "program": os.path.realpath(sys.executable),
            "version": f"python{sys.version_info.major}.{sys.version_info.minor}",
            "sites": [sysconfig.get_path("purelib")],
            "packages": sorted(installed),
        },
    }


def _configuration(build: Path) -> str:
    # The build sandbox shows the host's programs, because the stub's packages are links to
    # them, and nothing else: no home, and no network but for what has a fixed hash. Never
    # /etc: Nix makes files of its own there, and would make them on the host.
    system = {"/usr": "/usr", "/bin": "/usr/bin", "/lib": "/usr/lib", "/lib64": "/usr/lib64"}
    python = [path for path in (sys.prefix, sys.base_prefix) if not path.startswith("/usr")]
    shown = [f"{name}={path}" for name, path in system.items() if Path(path).is_dir()]
    return "\n".join(
        [
            "experimental-features = nix-command flakes",
            "sandbox = true",
            # A build that fails leaves its directory.
            f"build-dir = {build}",
            f"sandbox-paths = {' '.join([*shown, *dict.fromkeys(python)])}",
            *(f"ssl-cert-file = {bundle}" for bundle in _certificates()[:1]),
            "substituters =",
            "build-users-group =",
            "flake-registry =",
            "warn-dirty = false",
            "max-jobs = 2",
        ]
    )


def _certificates() -> list[str]:
    names = ("NIX_SSL_CERT_FILE", "SSL_CERT_FILE", "PIP_CERT", "NODE_EXTRA_CA_CERTS")
    return [os.environ[name] for name in names if os.environ.get(name)]
