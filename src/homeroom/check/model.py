"""What a probe is given, and what it answers."""

import os
import shutil
import threading
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec

from homeroom import config
from homeroom.config import Config
from homeroom.errors import ToolError
from homeroom.paths import Paths
from homeroom.rules import user_homes
from homeroom.toolchain import store
from homeroom.toolchain.store import Toolchain

# "broken": the probe itself crashed or gave no answer in time, so that nothing is known.
Verdict = Literal["ok", "warn", "fail", "skipped", "broken"]


class Finding(msgspec.Struct, frozen=True):
    """What a probe found.

    Attributes:
        verdict: How it stands.
        seen: What was seen, in one sentence. Never a secret.
        cure: The command, or the page of the documentation, that mends it.
    """

    verdict: Verdict
    seen: str
    cure: str | None = None


def ok(seen: str) -> Finding:
    """All is well."""
    return Finding("ok", seen)


def warn(seen: str, cure: str | None = None) -> Finding:
    """It works, and something about it should be known."""
    return Finding("warn", seen, cure)


def fail(seen: str, cure: str | None = None) -> Finding:
    """It does not work, or is not safe."""
    return Finding("fail", seen, cure)


def skipped(why: str) -> Finding:
    """There is nothing to look at, and why."""
    return Finding("skipped", why)


class Surroundings:
    """What all probes look at, each part read at most once.

    Args:
        environ: The caller's environment.
        paths: homeroom's directories.
        online: Whether a probe may ask a provider's server.
        directory: Where a room would work; the process's own when None.
        root: The file system's root: another one in tests.

    Attributes:
        stopping: Set when the answers are no longer wanted; what waits must look at it.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        paths: Paths,
        *,
        online: bool = False,
        directory: Path | None = None,
        root: Path = Path("/"),
    ) -> None:
        self.environ = environ
        self.paths = paths
        self.online = online
        self.directory = directory or Path.cwd()
        self.root = root
        self.stopping = threading.Event()

    def machine(self, path: str) -> Path:
        """Find a file of the machine below the root."""
        return self.root / path.lstrip("/")

    def program(self, name: str) -> str | None:
        """Find a program on the caller's PATH."""
        return shutil.which(name, path=self.environ.get("PATH", os.defpath))

    @cached_property
    def config(self) -> Config:
        """The user's configuration.

        Raises:
            ConfigError: It cannot be read.
        """
        return config.load(self.paths.config_file)

    @cached_property
    def toolchain(self) -> Toolchain | None:
        """The installed toolchain, or None."""
        return store.find(self.paths, self.environ)

    def require_toolchain(self) -> Toolchain:
        """The installed toolchain.

        Raises:
            ToolError: There is none; another probe says so.
        """
        if self.toolchain is None:
            raise ToolError("no toolchain is installed", "homeroom setup")
        return self.toolchain

    @cached_property
    def homes(self) -> tuple[Path, ...]:
        """The user's home directories.

        Raises:
            StateError: There is none.
        """
        return user_homes(self.environ)


class Probe(msgspec.Struct, frozen=True):
    """One question with a proof for an answer.

    Attributes:
        name: Group and word, as ``system.user-namespaces``.
        title: What is asked, for people.
        look: Answers it. It may raise a HomeroomError, which counts as a failure; a
            TryAgainError says that nothing could be known.
        is_quick: Whether ``--quick`` includes it.
        limit: How long it may take, in seconds.
        fix: Mends what it is about, safely; None where a person must decide.
        needs: Probes, or groups, that must not have failed: what they are about would show
            here as well, and is told once. They count as far as they are asked at all.
    """

    name: str
    title: str
    look: Callable[[Surroundings], Finding]
    is_quick: bool = True
    limit: float = 10.0
    fix: Callable[[Surroundings], str] | None = None
    needs: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        """The first part of the name."""
        return self.name.partition(".")[0]

    def is_called(self, word: str) -> bool:
        """Tell whether a word is the probe's name, or the beginning of it up to a dot."""
        return self.name == word or self.name.startswith(f"{word}.")


class Result(msgspec.Struct, frozen=True):
    """A probe's answer.

    Attributes:
        probe: The probe.
        finding: What it found.
        seconds: How long it took.
        fixed: What ``--fix`` did about it, or None.
        blocked_by: The probe whose failure kept this one from being asked, or None.
    """

    probe: Probe
    finding: Finding
    seconds: float
    fixed: str | None = None
    blocked_by: str | None = None
