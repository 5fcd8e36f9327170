"""Make the toolchain of the current pins: whole, checked, and once."""

import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

import msgspec

from homeroom.errors import StorageError, ToolError
from homeroom.files import PRIVATE_DIR, ensure_private_dir, explain, replace_private
from homeroom.paths import Paths
from homeroom.toolchain import child, health
from homeroom.toolchain.data import LOCK_DIR
from homeroom.toolchain.fetch import CACHE, TEMPORARY, fetch_node, fetch_packages
from homeroom.toolchain.pins import Pins, load
from homeroom.toolchain.progress import Reporter, amount, measure
from homeroom.toolchain.staging import exclusive, publish, remove_leftovers, staging
from homeroom.toolchain.store import (
    MARK,
    TOOLCHAIN_VARIABLE,
    Toolchain,
    encode_mark,
    find,
    override,
    require,
)
from homeroom.trash import remove_trees


class Outcome(msgspec.Struct, frozen=True):
    """The toolchain, and whether this call installed it."""

    toolchain: Toolchain
    installed: bool


def install(
    paths: Paths,
    environ: Mapping[str, str],
    reporter: Reporter,
    *,
    lock_dir: Path = LOCK_DIR,
    thorough: bool = False,
) -> Outcome:
    """Install the pinned tools unless they are there: check, lock, check again.

    Args:
        paths: homeroom's directories.
        environ: The caller's environment; npm's and pip's own variables lead to mirrors.
        reporter: Where to tell what goes on.
        lock_dir: The directory of the pins.
        thorough: Whether to hash what is installed and replace it when it has changed.

    Returns:
        The toolchain.

    Raises:
        IntegrityError: A pin is faulty, or an artifact is not the pinned one.
        ToolError: A client is missing, or ``HOMEROOM_TOOLCHAIN`` cannot be used.
        StateError: The data directory cannot be used.
        StorageError: The disk is full or failed.
        TryAgainError: A registry did not answer.
    """
    if found := _whole(paths, environ, reporter, lock_dir, thorough=thorough):
        return Outcome(found, installed=False)
    pins = load(lock_dir)
    ensure_private_dir(paths.data)
    ensure_private_dir(paths.toolchains)

    def wait() -> None:
        reporter.note("another setup is running; waiting for it to end")

    with exclusive(paths.toolchains, wait) as lock:
        if found := _whole(paths, environ, reporter, lock_dir, thorough=thorough):
            return Outcome(found, installed=False)
        remove_leftovers(paths.toolchains)
        _guard_space(paths.toolchains, pins)
        with staging(paths.toolchains) as stage:
            _make(stage, paths.toolchains / pins.lock_hash, pins, environ, reporter, lock)
    return Outcome(require(paths, environ, lock_dir), installed=True)


def seal(root: Path, lock_dir: Path = LOCK_DIR) -> Toolchain:
    """Check and mark a tree that something else has unpacked (Nix, an image's build).

    Args:
        root: The tree, laid out as ``store.layout`` says; it gets its mark.
        lock_dir: The directory of the pins.

    Returns:
        Its tools; ``HOMEROOM_TOOLCHAIN`` may name the tree from now on.

    Raises:
        IntegrityError: It is not what is pinned.
        ToolError: It does not run here.
        OSError: The mark could not be written.
    """
    pins = load(lock_dir)
    toolchain = health.check(root, pins)
    replace_private(root / MARK, encode_mark(toolchain, pins.platform))
    return toolchain


def _whole(
    paths: Paths,
    environ: Mapping[str, str],
    reporter: Reporter,
    lock_dir: Path,
    *,
    thorough: bool,
) -> Toolchain | None:
    found = find(paths, environ, lock_dir)
    if found is None:
        return None
    damages = list(health.damages(found, thorough=thorough))
    named = override(environ)
    if not damages:
        if named:
            reporter.note(f"{TOOLCHAIN_VARIABLE} names {named}; nothing is installed")
        return found
    if named:
        raise ToolError(
            f"the toolchain that {TOOLCHAIN_VARIABLE} names is damaged: {damages[0]}",
            f"make it again, or unset {TOOLCHAIN_VARIABLE}",
        )
    for damage in damages:
        reporter.note(f"damaged, will be installed again: {damage}")
    return None


def _make(
    stage: Path,
    final: Path,
    pins: Pins,
    environ: Mapping[str, str],
    reporter: Reporter,
    lock: int,
) -> None:
    def poll() -> None:
        reporter.show(pins, measure(stage, pins))

    try:
        os.mkdir(stage / TEMPORARY, PRIVATE_DIR)
        poll()
        environ = child.trusting(environ, stage / TEMPORARY)
        fetch_node(stage, pins, environ, lock, poll)
        fetch_packages(stage, pins, environ, lock, poll)
        for scrap in (CACHE, TEMPORARY):
            if os.path.lexists(stage / scrap):
                remove_trees(stage / scrap)
        _close_to_others(stage)
        toolchain = health.check(stage, pins)
        poll()
        publish(stage, final, encode_mark(toolchain, pins.platform))
    except OSError as error:
        raise explain(error, error.filename or stage, "install into") from error


def _guard_space(directory: Path, pins: Pins) -> None:
    """Refuse before the download what cannot fit: npm holds tarballs and trees at once."""
    builds = [pin.build for pin in pins.tools.values()]
    needed = pins.wheel.download + pins.wheel.unpacked
    needed += sum(build.download + build.unpacked for build in builds)
    free = shutil.disk_usage(directory).free
    if free < needed:
        raise StorageError(
            f"{directory} has {amount(free, free)} free, {amount(needed, needed)} are needed",
            "free some space there, or set HOMEROOM_HOME to a larger place; "
            "see docs/how-to/disk-full.md",
        )


def _close_to_others(stage: Path) -> None:
    """Take away write permission from everybody else, whatever an archive says."""
    for parent, directories, names in os.walk(stage):
        for name in (*directories, *names):
            path = os.path.join(parent, name)
            mode = os.lstat(path).st_mode
            if not stat.S_ISLNK(mode) and mode & 0o022:
                os.chmod(path, stat.S_IMODE(mode) & ~0o022)
