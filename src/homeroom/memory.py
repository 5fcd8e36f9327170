"""Places in memory for rooms, so that a power cut leaves nothing of them on a disk."""

import hashlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from homeroom.errors import HomeroomError, StateError, StorageError
from homeroom.files import check_private_dir, ensure_private_dir, read_regular, replace_private
from homeroom.paths import LONGEST_TEMP_ROOT, MEMORY_VARIABLE, Paths

_LIMIT = 4096
# statfs(2): TMPFS_MAGIC and RAMFS_MAGIC.
_IN_MEMORY = (0x01021994, 0x858458F6)
_CURE = (
    f"set {MEMORY_VARIABLE} to a directory of your own, mode 0700, on a tmpfs, as a login session "
    'does; or set run.credentials_in to "disk"'
)


def require(paths: Paths, environ: Mapping[str, str]) -> Path:
    """Find the place in memory for new rooms. Makes nothing.

    Args:
        paths: homeroom's directories.
        environ: The caller's environment.

    Returns:
        A directory of this homeroom's own, which need not exist yet.

    Raises:
        StateError: There is no directory that is in memory and this user's alone; the
            message says why.
    """
    try:
        return _checked(paths, environ)
    except StateError as error:
        # Of the same cure for each: that of a directory of homeroom's own would not help.
        raise StateError(f'run.credentials_in is "memory", but {error.message}', _CURE) from error


def _checked(paths: Paths, environ: Mapping[str, str]) -> Path:
    if sys.platform != "linux":
        raise StateError("only on Linux is there a directory of each user's own in memory")
    given = environ.get(MEMORY_VARIABLE, "")
    if paths.memory is None:
        said = f"is {given}, which is not absolute" if given else "is not set"
        raise StateError(f"{MEMORY_VARIABLE} {said}")
    _require_private(Path(given))
    base = paths.memory.parent
    if base.is_relative_to("/dev"):
        raise StateError(f"{base} is below /dev, of which each sandbox has one of its own")
    for path in (base, *([paths.memory] if os.path.lexists(paths.memory) else [])):
        _require_private(path)
        if file_system(path) not in _IN_MEMORY:
            raise StateError(f"{path} is not in memory: its file system is no tmpfs or ramfs")
    if len(os.fsencode(paths.memory)) > LONGEST_TEMP_ROOT:
        raise StateError(f"{base} is too long a path for the sockets of a run")
    return paths.memory


def _require_private(path: Path) -> None:
    try:
        check_private_dir(path)
    except OSError as error:
        raise StateError(f"{path}: {error.strerror}") from error


def file_system(path: Path) -> int:
    """Tell a file system by the number that the kernel has for its kind (statfs(2)).

    Raises:
        StateError: It cannot be asked.
    """
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    # Larger than the structure is anywhere; the kind is its first word.
    answer = ctypes.create_string_buffer(512)
    if libc.statfs(os.fsencode(path), answer) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise StateError(f"the file system of {path} cannot be told: {reason}")
    return ctypes.c_long.from_buffer(answer).value & 0xFFFFFFFF


def remember(paths: Paths, place: Path) -> None:
    """Note a place, so that it is found again from where the variable is not set.

    Args:
        paths: homeroom's directories.
        place: As ``require`` gave it.

    Raises:
        StateError: It cannot be written down.
        StorageError: The operating system refused, a full disk for one.
    """
    content = os.fsencode(place)
    note = paths.places / hashlib.sha256(content).hexdigest()[:12]
    if not os.path.lexists(note):
        ensure_private_dir(paths.places)
        replace_private(note, content)


def places(paths: Paths) -> tuple[Path, ...]:
    """List the places in memory that may hold rooms, this user's alone, each once.

    Args:
        paths: homeroom's directories.
    """
    return tuple(place for place in known(paths) if why_unusable(place) is None)


def unusable(paths: Paths) -> list[str]:
    """Say of the places that are there and not this user's alone what is wrong with them."""
    return [why for place in known(paths) if (why := why_unusable(place))]


def why_unusable(place: Path) -> str | None:
    """Say why a place cannot hold rooms of ours, an empty text where there is none."""
    try:
        check_private_dir(place)
    except FileNotFoundError:
        return ""
    except (HomeroomError, OSError) as error:
        return str(error)
    return None


def known(paths: Paths) -> list[Path]:
    """List every place in memory that rooms were ever kept in, or could be, there or not."""
    found = [paths.memory] if paths.memory is not None else []
    try:
        names = sorted(os.listdir(paths.places))
    except OSError:
        names = []
    for name in names:
        try:
            noted = Path(os.fsdecode(read_regular(paths.places / name, _LIMIT)))
        except (OSError, StorageError):
            continue
        if noted.is_absolute():
            found.append(noted)
    return list(dict.fromkeys(found))
