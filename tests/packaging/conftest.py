"""homeroom as it is handed to others: a wheel and an archive of the sources."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import REGISTRIES
from tests.support.git import git

ROOT = Path(__file__).parent.parent.parent
# A day long past: what is built must not say when.
_EPOCH = "1700000000"


@dataclass(frozen=True)
class Distribution:
    """What one build made, and of what."""

    checkout: Path
    wheel: Path
    sources: Path


def copy_checkout(target: Path) -> Path:
    """Copy what git has or would have."""
    listed = git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, set(listed.split("\0"))):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name, follow_symlinks=False)
    return target


def registries() -> dict[str, str]:
    """What of the environment leads to the registries, and no more than a program needs."""
    found = {name: value for name, value in os.environ.items() if REGISTRIES.fullmatch(name)}
    return found | {"LANG": "C.UTF-8", "PATH": os.environ["PATH"]}


def build(checkout: Path, target: Path, *options: str, umask: int = 0o022) -> None:
    """Build as anybody would: with the build backend fetched anew."""
    subprocess.run(
        [sys.executable, "-m", "build", *options, "--outdir", target, checkout],
        env=registries() | {"HOME": str(target.parent), "SOURCE_DATE_EPOCH": _EPOCH},
        umask=umask,
        capture_output=True,
        check=True,
    )


@pytest.fixture(scope="module")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> Distribution:
    """The archive of the sources, and the wheel that is built from it."""
    base = tmp_path_factory.mktemp("d")
    checkout = copy_checkout(base / "checkout")
    build(checkout, base / "dist")
    [wheel], [sources] = (base / "dist").glob("*.whl"), (base / "dist").glob("*.tar.gz")
    return Distribution(checkout, wheel, sources)
