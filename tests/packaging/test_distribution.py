"""The wheel and the archive of the sources are the same wherever they are built, and install."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from homeroom import __version__
from homeroom.toolchain.data import LOCK_DIR, LOCK_FILES
from tests.packaging.conftest import Distribution, build, registries

pytestmark = pytest.mark.network


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_second_build_elsewhere_gives_the_same_bytes(
    distribution: Distribution, tmp_path: Path
) -> None:
    checkout = shutil.copytree(distribution.checkout, tmp_path / "another-place")
    for path in checkout.rglob("*"):
        os.utime(path, (0, 0))
        path.chmod(0o700 if os.access(path, os.X_OK) else 0o600)
    # --wheel --sdist builds the wheel from the checkout, not from the archive.
    build(checkout, tmp_path / "dist", "--wheel", "--sdist", umask=0o077)
    for made in (distribution.wheel, distribution.sources):
        assert digest(tmp_path / "dist" / made.name) == digest(made)


def test_the_wheel_has_the_pins_as_they_are(distribution: Distribution) -> None:
    with zipfile.ZipFile(distribution.wheel) as wheel:
        for name in LOCK_FILES:
            found = wheel.read(f"homeroom/toolchain/lock/{name}")
            assert found == (LOCK_DIR / name).read_bytes()


def test_the_wheel_has_the_man_page_and_the_completions(distribution: Distribution) -> None:
    with zipfile.ZipFile(distribution.wheel) as wheel:
        shared = {name.partition(".data/data/")[2] for name in wheel.namelist()}
    assert "share/doc/homeroom/docs/how-to/sandbox-refused.md" in shared
    assert {name for name in shared if name and "/doc/" not in name} == {
        "share/bash-completion/completions/homeroom",
        "share/fish/vendor_completions.d/homeroom.fish",
        "share/man/man1/homeroom.1",
        "share/zsh/site-functions/_homeroom",
    }


def test_the_archive_has_what_a_distributor_needs(distribution: Distribution) -> None:
    with tarfile.open(distribution.sources) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "pyproject.toml", "tests/conftest.py", "flake.nix"} <= names
    assert not [name for name in names if name.startswith((".git/", ".nox/"))]


def test_pipx_installs_it_with_its_man_page(distribution: Distribution, tmp_path: Path) -> None:
    directories = {
        "PIPX_HOME": tmp_path / "pipx",
        "PIPX_BIN_DIR": tmp_path / "bin",
        "PIPX_MAN_DIR": tmp_path / "man",
        "HOME": tmp_path,
    }
    env = registries() | {name: str(path) for name, path in directories.items()}
    pipx = [sys.executable, "-m", "pipx", "install", "--python", sys.executable]
    subprocess.run([*pipx, distribution.wheel], env=env, capture_output=True, check=True)
    said = subprocess.run(
        [tmp_path / "bin/homeroom", "--version"], env=env, capture_output=True, check=True
    )
    assert said.stdout.decode() == f"homeroom {__version__}\n"
    assert (tmp_path / "man/man1/homeroom.1").is_file()
    # An error leads a beginner to a page: it must be on the machine.
    failed = subprocess.run(
        [tmp_path / "bin/homeroom", "start"],
        env=env | {"PATH": "/nowhere", "HTTPS_PROXY": "socks5://h"},
        capture_output=True,
        text=True,
        check=False,
    )
    page = re.search(r"(/\S+/docs/how-to/\S+\.md)", failed.stderr)
    assert page is not None, failed.stderr
    assert Path(page[1]).is_file()


@pytest.mark.parametrize("kind", ["wheel", "sources"])
def test_uvx_runs_it_without_installing(
    distribution: Distribution, tmp_path: Path, kind: str
) -> None:
    env = registries() | {"HOME": str(tmp_path), "UV_CACHE_DIR": str(tmp_path / "cache")}
    # uv has certificates of its own unless it is told to take the system's.
    command = ["uv", "tool", "run", "--native-tls", "--python", sys.executable]
    command += ["--from", str(getattr(distribution, kind)), "homeroom", "--version"]
    said = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout) == (0, f"homeroom {__version__}\n"), said.stderr
