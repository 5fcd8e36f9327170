"""The instance tree of a run: made, written into, and removed again."""

import json
import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path

import msgspec

from homeroom import memory, trash
from homeroom.errors import StateError, StorageError
from homeroom.files import (
    create_private,
    ensure_private_dir,
    explain,
    is_no_file,
    is_there,
    read_regular,
    replace_private,
)
from homeroom.paths import Paths

RUN_ID = re.compile(r"run_[0-9a-f]{32}")
MARK = ".homeroom-instance"
# https://bford.info/cachedir/: backup programs leave out a directory with this file.
_CACHEDIR_TAG = (
    b"Signature: 8a477f597d28d172789f06886806bc55\n# Rooms of live runs; made by homeroom.\n"
)


class Instance(msgspec.Struct, frozen=True):
    """The places of one run.

    Attributes:
        run_id: ``run_`` and 32 hex digits.
        root: Holds the mark, the canary, the home and the runtime directory.
        temp: A short directory elsewhere; unix socket paths end at 107 bytes.
        place: The place in memory that both are in; None on the disk.
    """

    run_id: str
    root: Path
    temp: Path
    place: Path | None = None

    @property
    def home(self) -> Path:
        """The run's private HOME."""
        return self.root / "home"

    @property
    def runtime(self) -> Path:
        """What the run may read and not write: prelude, environment, certificates."""
        return self.root / "runtime"

    @property
    def settings(self) -> Path:
        """The sandbox's settings, which the run cannot read: a password may be in them."""
        return self.root / "settings.json"

    @property
    def secrets(self) -> Path:
        """The run's own secret values, so that a sweep can replace them in what is kept.

        The run cannot read it.
        """
        return self.root / "secrets.json"

    @property
    def trash(self) -> Path:
        """Where its tree goes on its way out: on the same file system."""
        return self.root.parent.parent / "trash"

    @property
    def certificates(self) -> Path:
        """The authorities that the run trusts, where those are not the system's alone."""
        return self.runtime / "certificates.pem"

    @property
    def canary(self) -> Path:
        """A file that the run must not be able to read."""
        return self.root / "canary"

    @property
    def tmp(self) -> Path:
        """The run's TMPDIR."""
        return self.temp / "t"

    @property
    def control(self) -> Path:
        """The sandbox's own temporary directory and working directory."""
        return self.temp / "c"


def new_run_id() -> str:
    """Make up an id that no other run has."""
    return f"run_{os.urandom(16).hex()}"


def instance_of(paths: Paths, run_id: str, place: Path | None = None) -> Instance:
    """Tell where a run's places are, without making them.

    Args:
        paths: homeroom's directories.
        run_id: The run.
        place: The place in memory where one that is nowhere yet shall be; None for the disk.

    Returns:
        Its places.

    Raises:
        ValueError: The id is not of the shape of one, so that it cannot name a path.
    """
    if not RUN_ID.fullmatch(run_id):
        raise ValueError(f"not a run id: {run_id!r}")
    short = run_id.removeprefix("run_")[:12]
    on_disk = Instance(run_id, paths.instances / run_id, paths.temp / short)
    for at in memory.places(paths):
        found = Instance(run_id, rooms_in(at) / run_id, at / short, at)
        if os.path.lexists(found.root):
            return found
    if place is None or os.path.lexists(on_disk.root):
        return on_disk
    return Instance(run_id, rooms_in(place) / run_id, place / short, place)


def rooms_in(place: Path) -> Path:
    """Tell where the instance trees in a place in memory are."""
    return place / "instances"


def all_rooms(paths: Paths) -> tuple[Path, ...]:
    """List the directories that hold instance trees: on the disk first, then in memory."""
    return (paths.instances, *map(rooms_in, memory.places(paths)))


def materialize(instance: Instance) -> None:
    """Make a run's directories, each 0700 from the start.

    Args:
        instance: Where; nothing is there yet.

    Raises:
        StateError: The instances' root is a symlink, someone else's or open to others,
            or something is there already.
        StorageError: The operating system refused, a full disk for one.
    """
    ensure_private_dir(instance.root.parent)
    ensure_private_dir(instance.temp.parent)
    try:
        tag = instance.root.parent / "CACHEDIR.TAG"
        if not os.path.lexists(tag):
            replace_private(tag, _CACHEDIR_TAG)
        os.mkdir(instance.root, 0o700)
        create_private(instance.root / MARK, f"{instance.run_id}\n".encode())
        os.mkdir(instance.temp, 0o700)
        create_private(instance.temp / MARK, f"{instance.root}\n".encode())
        for directory in (instance.home, instance.runtime, instance.tmp, instance.control):
            os.mkdir(directory, 0o700)
        create_private(instance.canary, f"{os.urandom(16).hex()}\n".encode())
    except FileExistsError as error:
        raise StateError(f"{error.filename} is there already", "move it out of the way") from error
    except OSError as error:
        raise explain(error, error.filename or instance.root, "make the room at") from error


def note_secrets(instance: Instance, values: Sequence[str]) -> None:
    """Write down a run's own secret values, where the run cannot read them.

    Args:
        instance: Its places, which are made.
        values: The values, which may hold bytes that are no UTF-8, as in an environment.

    Raises:
        StateError: They cannot be written.
        StorageError: The same for another reason, a full disk for one.
    """
    try:
        create_private(instance.secrets, json.dumps(values).encode())
    except OSError as error:
        raise explain(error, instance.secrets, "write") from error


def is_marked(instance: Instance) -> bool:
    """Tell whether the instance tree is a directory of ours that carries homeroom's mark.

    An empty one counts: its maker was killed between making and marking it, and removing
    it can lose nothing.

    Raises:
        StateError: It cannot be looked at.
        StorageError: The same, for another reason.
    """
    return _carries(instance.root, instance.run_id)


def wipe(instance: Instance, rubbish: Path) -> None:
    """Remove a run's directories, whatever the agent left in them. A second call is fine.

    Args:
        instance: The run's places.
        rubbish: homeroom's trash directory.

    Raises:
        StateError: The tree carries no mark of homeroom's.
        StorageError: Something could not be removed; it is in the trash, and named.
    """
    trash.remove_trees(*set_aside(instance, rubbish))


def set_aside(instance: Instance, rubbish: Path) -> tuple[Path, ...]:
    """Rename a run's directories into the trash, each on its own file system.

    Args:
        instance: The run's places.
        rubbish: homeroom's trash directory.

    Returns:
        Where they are now, to be removed.

    Raises:
        StateError: The tree carries no mark of homeroom's.
        StorageError: Something could not be moved.
    """
    moved: list[Path | None] = []
    # The short directory's name is 12 digits of the run's, which another one may share.
    if is_there(instance.temp) and _carries(instance.temp, str(instance.root)):
        moved.append(trash.set_aside(instance.temp, instance.temp.parent / "trash", last=MARK))
    if is_there(instance.root):
        if not is_marked(instance):
            raise StateError(
                f"{instance.root} does not carry homeroom's mark, so it was left alone",
                "look at it, and remove it by hand if it is a leftover",
            )
        moved.append(trash.set_aside(instance.root, rubbish, last=MARK))
    return tuple(path for path in moved if path is not None)


def _carries(directory: Path, mark: str) -> bool:
    """Tell whether a directory is ours and carries a mark, or is empty."""
    try:
        status = os.lstat(directory)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            return False
        if not os.listdir(directory):
            return True
        return read_regular(directory / MARK, 65536) == os.fsencode(f"{mark}\n")
    except FileNotFoundError:
        return False
    except StorageError as error:
        if not is_no_file(error):
            raise
        return False
    except OSError as error:
        raise explain(error, directory, "look at") from error
