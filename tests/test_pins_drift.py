"""The pins stand in one place: whatever else needs one reads it from there."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from homeroom.toolchain.data import LOCK_DIR
from homeroom.toolchain.pins import load
from tests.support.git import git

ROOT = Path(__file__).parent.parent
# What is made from the pins, or says how they are used.
READERS = (
    *("*.nix", "*.lock", "noxfile.py", ".ci", ".github", "container/Containerfile"),
    *("container/base", "scripts", "docs/nix.md", "docs/how-to/install.md", "README.md"),
)
# An npm integrity, or a sha256 in hex as the pins have it. A flake.lock has neither.
HASHES = re.compile(r"sha512-[A-Za-z0-9+/]{86}==|\b[0-9a-f]{64}\b")


def readers() -> Iterator[tuple[str, str]]:
    listed = git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard", *READERS)
    for name in sorted(set(filter(None, listed.split("\0")))):
        if (ROOT / name).is_file():
            yield name, (ROOT / name).read_text(encoding="utf-8")


def pinned_versions() -> dict[str, str]:
    pins = load(platform="linux-x64")
    versions = {name: pin.version for name, pin in pins.tools.items()}
    return versions | {"node": pins.node.version}


def repeated(text: str, versions: dict[str, str]) -> list[str]:
    """Name what of the pins a text says for itself."""
    found = [name for name, version in versions.items() if _has(text, version)]
    return found + HASHES.findall(text)


def _has(text: str, version: str) -> bool:
    return re.search(rf"(?<![\d.]){re.escape(version)}(?![\w-]|\.\w)", text) is not None


def test_who_reads_the_pins_repeats_none_of_them() -> None:
    looked_at = dict(readers())
    assert {"flake.nix", "nix/pins.nix", "noxfile.py", "docs/nix.md"} <= looked_at.keys()
    versions = pinned_versions()
    assert {name: it for name, text in looked_at.items() if (it := repeated(text, versions))} == {}


@pytest.mark.parametrize(
    "text",
    ['version = "2.1.332";', "hash = sha512-" + "A" * 86 + "==", "v2.1.332.", "f" * 64],
)
def test_a_repeated_pin_is_noticed(text: str) -> None:
    assert repeated(text, {"claude": "2.1.332"})


def test_a_pin_of_another_version_is_no_repetition() -> None:
    assert not repeated("2.1.3320 12.1.332 2.1.332-beta.1 2.1.332.4", {"claude": "2.1.332"})


def test_no_package_has_a_package_of_its_own_below_it() -> None:
    """nix/pins.nix follows plain dependencies by name, so that each name has one place."""
    lock = json.loads((LOCK_DIR / "package-lock.json").read_bytes())["packages"]
    assert [key for key in lock if key.count("node_modules/") > 1] == []
    wanted = {name for entry in lock.values() for name in entry.get("dependencies", {})}
    assert [name for name in wanted if f"node_modules/{name}" not in lock] == []
