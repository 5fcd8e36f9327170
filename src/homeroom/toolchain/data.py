"""The files of all pins, and the one hash that names them."""

import hashlib
from pathlib import Path

from homeroom.errors import StorageError
from homeroom.toolchain.host import platform_key

LOCK_DIR = Path(__file__).parent / "lock"
LOCK_FILES = ("package-lock.json", "package.json", "pins.json")
_HASH_LENGTH = 32


def lock_hash(lock_dir: Path = LOCK_DIR, platform: str | None = None) -> str:
    """Name a set of pins by its content.

    Args:
        lock_dir: The directory of the pins.
        platform: One of ``host.PLATFORMS``; None means this machine. It is hashed too, so
            that machines of several kinds can share one home directory.

    Returns:
        32 hexadecimal digits.

    Raises:
        StorageError: The pins cannot be read.
    """
    digest = hashlib.sha256((platform or platform_key()).encode())
    for name in LOCK_FILES:
        try:
            content = (lock_dir / name).read_bytes()
        except OSError as error:
            raise StorageError(
                f"cannot read the pins: {error}", "install homeroom again"
            ) from error
        digest.update(f"\0{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:_HASH_LENGTH]
