"""srt's own packages: which are published, and how one gets into a directory."""

import hashlib
import json
import os
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from homeroom.errors import HomeroomError, StorageError, TryAgainError, UsageError
from homeroom.sandbox.capabilities import parse
from homeroom.toolchain import child
from homeroom.toolchain.fetch import npm
from homeroom.toolchain.pins import load
from homeroom.toolchain.store import NODE, Toolchain

NAME = "@anthropic-ai/sandbox-runtime"
_INSTALL = (
    "install",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--omit=dev",
    "--loglevel=error",
)
# npm's word for each, and what it means here.
_MISSING = ("ETARGET", "E404", "notarget")


@dataclass(frozen=True)
class Packages:
    """Where versions of srt come from.

    Attributes:
        toolchain: Whose npm fetches them, and checks what it fetches.
        local: Packed packages of the user's, by version; they win over published ones.
    """

    toolchain: Toolchain
    local: Mapping[str, Path]

    def key(self, version: str) -> str:
        """Tell a package from any other one: a published version never changes."""
        path = self.local.get(version)
        return version if path is None else hashlib.sha256(path.read_bytes()).hexdigest()

    def published(self) -> list[str]:
        """List the published versions, in order.

        Raises:
            TryAgainError: npm did not answer.
        """
        with tempfile.TemporaryDirectory(prefix="homeroom-matrix-") as name:
            ended = self._npm(["view", NAME, "versions", "--json"], Path(name))
        if ended.status != 0:
            raise TryAgainError(f"the versions of srt are not known: {_end(ended)}")
        return sorted((v for v in json.loads(ended.output) if "-" not in v), key=parse)

    def require(self, versions: list[str]) -> None:
        """Refuse versions that do not exist, before anything is built.

        Raises:
            UsageError: One does not.
            TryAgainError: npm did not answer.
        """
        asked = [version for version in versions if version not in self.local]
        if not asked:
            return
        published = self.published()
        for version in asked:
            if version not in published:
                raise UsageError(
                    f"there is no srt {version}", f"the newest that is published is {published[-1]}"
                )

    def fetch(self, version: str, target: Path) -> None:
        """Install one version and what it needs.

        Args:
            version: Of srt.
            target: A directory to be made.

        Raises:
            UsageError: There is no such version.
            TryAgainError: It could not be fetched.
        """
        target.mkdir(parents=True)
        local = self.local.get(version)
        wanted = version if local is None else f"file:{local.resolve()}"
        manifest = {"name": "cell", "private": True, "dependencies": {NAME: wanted}}
        (target / "package.json").write_text(json.dumps(manifest), encoding="utf-8")
        ended = self._npm(_INSTALL, target)
        if ended.status != 0:
            raise _failure(version, ended)
        # They name the place the packages came from, which is no business of an image's.
        for name in ("package.json", "package-lock.json", "node_modules/.package-lock.json"):
            (target / name).unlink(missing_ok=True)

    def _npm(self, arguments: list[str] | tuple[str, ...], cwd: Path) -> child.Ended:
        command = npm(self.toolchain.root / NODE, load().node)
        # npm writes a cache of compiled code there, which is no part of a package.
        with tempfile.TemporaryDirectory(prefix="homeroom-npm-") as name:
            temporary = Path(name)
            environ = child.environment(child.trusting(os.environ, temporary), temporary)
            return child.run([*command, *arguments], cwd, environ, None, lambda: None)


def _failure(version: str, ended: child.Ended) -> HomeroomError:
    said = ended.output + ended.errors
    if any(word in said for word in _MISSING):
        return UsageError(f"there is no srt {version}")
    if "ENOSPC" in said:
        return StorageError(f"srt {version} could not be fetched: the disk is full")
    return TryAgainError(f"srt {version} could not be fetched: {_end(ended)}")


def _end(ended: child.Ended) -> str:
    return (ended.errors or ended.output).strip()[-300:] or f"npm ended with {ended.status}"


def version_of(path: Path) -> str:
    """Read which version a packed package is.

    Args:
        path: A ``.tgz``, as ``npm pack`` makes it.

    Raises:
        UsageError: It is no packed srt.
    """
    try:
        with tarfile.open(path) as archive:
            manifest = archive.extractfile("package/package.json")
            document = json.load(manifest) if manifest else {}
        if document["name"] != NAME:
            raise UsageError(f"{path} is {document['name']}, not {NAME}")
        parse(document["version"])
        return str(document["version"])
    except (OSError, tarfile.TarError, KeyError, ValueError) as error:
        raise UsageError(
            f"{path} is no package of srt: {error}", "make one by `npm pack`"
        ) from None
