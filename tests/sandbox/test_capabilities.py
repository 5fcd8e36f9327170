"""The table of what each version of srt knows, against the packages themselves."""

import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from homeroom.sandbox import capabilities
from homeroom.sandbox.capabilities import FLOOR, NEWEST_TRIED
from homeroom.toolchain import pins
from homeroom.toolchain.fetch import npm
from homeroom.toolchain.store import NODE, Toolchain
from tests.conftest import REGISTRIES

NAME = "@anthropic-ai/sandbox-runtime"
# The version before and the version at which each capability came.
BOUNDARIES = (
    *("0.0.41", "0.0.42", "0.0.43", "0.0.49", "0.0.50"),
    *("0.0.67", "0.0.68", "0.0.78", "0.0.79", "0.0.83"),
)
BASE: dict[str, dict[str, object]] = {
    "network": {"allowedDomains": [], "deniedDomains": []},
    "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": []},
}
# What is asked of a version's own schema: whether it takes the setting, and keeps it.
ASKED = {
    "literal_paths": ("filesystem", "denyRead", [{"path": "/a", "literal": True}]),
    "program_paths": (None, "bwrapPath", "/usr/bin/bwrap"),
    "host_ports": ("network", "allowedDomains", ["example.com:443"]),
    "allow_read": ("filesystem", "allowRead", ["/a"]),
    "parent_proxy": ("network", "parentProxy", {"https": "http://localhost:1", "noProxy": ""}),
}
SCRIPT = """
const { SandboxRuntimeConfigSchema: schema } = await import(process.argv[1]);
const told = {};
for (const [name, settings] of Object.entries(JSON.parse(process.argv[2]))) {
  const parsed = schema.safeParse(settings);
  const kept = parsed.success ? JSON.stringify(parsed.data).length : 0;
  told[name] = kept >= JSON.stringify(settings).length;
}
console.log(JSON.stringify(told));
"""

pytestmark = pytest.mark.network


@pytest.fixture(scope="session")
def packages(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each package at a boundary, as published, beside the libraries that its schema needs."""
    directory = tmp_path_factory.mktemp("p")
    # The schemas import zod; the pinned one serves all.
    shutil.copytree(toolchain.root / "node_modules" / "zod", directory / "node_modules" / "zod")
    kept = {name: value for name, value in os.environ.items() if REGISTRIES.fullmatch(name)}
    names = [f"{NAME}@{version}" for version in BOUNDARIES]
    subprocess.run(
        [*npm(toolchain.root / NODE, pins.load().node), "pack", "--silent", *names],
        cwd=directory,
        env={**kept, "HOME": str(directory), "PATH": os.environ["PATH"]},
        check=True,
        capture_output=True,
        timeout=100,
    )
    found = {}
    for version in BOUNDARIES:
        (packed,) = directory.glob(f"*-{version}.tgz")
        with tarfile.open(packed) as archive:
            archive.extractall(directory / version, filter="data")
        found[version] = directory / version / "package"
    return found


def settings(section: str | None, key: str, value: object) -> dict[str, object]:
    """Make settings with one more key."""
    if section is None:
        return {**BASE, key: value}
    return {**BASE, section: {**BASE[section], key: value}}


@pytest.mark.parametrize("version", BOUNDARIES)
def test_a_version_knows_what_the_table_says_and_no_more(
    toolchain: Toolchain, packages: dict[str, Path], version: str
) -> None:
    schema = packages[version] / "dist" / "sandbox" / "sandbox-config.js"
    asked = {name: settings(*words) for name, words in ASKED.items()}
    done = subprocess.run(
        [
            *(toolchain.tools[NODE].path, "--input-type=module", "-e", SCRIPT),
            *(schema.as_uri(), json.dumps(asked)),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    knows = capabilities.of(version)
    assert json.loads(done.stdout) == {name: getattr(knows, name) for name in ASKED}


def test_the_pinned_node_is_one_that_every_version_asks_for(packages: dict[str, Path]) -> None:
    pinned = capabilities.parse(pins.load().node.version)
    for version, package in packages.items():
        asked = json.loads((package / "package.json").read_text())["engines"]["node"]
        assert pinned >= capabilities.parse(asked.removeprefix(">=")), version


def test_the_pinned_srt_is_one_that_was_tried() -> None:
    assert FLOOR <= capabilities.parse(pins.load().tools["srt"].version) <= NEWEST_TRIED
