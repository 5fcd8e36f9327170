"""Secrets in private files: what the vault falls back on where there is no keyring."""

import os
from pathlib import Path

from homeroom.errors import CredentialError, StorageError
from homeroom.files import (
    check_private_dir,
    ensure_private_dir,
    explain,
    read_regular,
    replace_private,
)

_LIMIT = 1024 * 1024


class FileStore:
    """One file for each entry, 0600 in directories 0700.

    Args:
        directory: Where; made when something is written.
    """

    name = "file"

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def read(self, provider: str, profile: str) -> str | None:
        """Read an entry; None when there is none.

        Raises:
            CredentialError: It is no readable text file; it is named.
            StateError: Its directory is open to others.
        """
        path = self._path(provider, profile)
        try:
            check_private_dir(path.parent)
            return read_regular(path, _LIMIT).decode()
        except FileNotFoundError:
            return None
        except (StorageError, UnicodeDecodeError) as error:
            reason = f"{path} is not UTF-8" if isinstance(error, UnicodeError) else str(error)
            raise CredentialError(reason, "run `homeroom login` again") from None
        except OSError as error:
            raise explain(error, path, "read") from error

    def write(self, provider: str, profile: str, document: str) -> None:
        """Write an entry, whole or not at all.

        Raises:
            StateError: Its directory cannot be used.
            StorageError: The operating system refused, a full disk for one.
        """
        path = self._path(provider, profile)
        for directory in (self._directory, path.parent):
            ensure_private_dir(directory)
        try:
            replace_private(path, document.encode())
        except OSError as error:
            raise explain(error, path, "write") from error

    def remove(self, provider: str, profile: str) -> bool:
        """Remove an entry.

        Returns:
            Whether there was one.

        Raises:
            StateError: It may not be removed.
            StorageError: The operating system refused.
        """
        path = self._path(provider, profile)
        try:
            os.unlink(path)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise explain(error, path, "remove") from error
        return True

    def _path(self, provider: str, profile: str) -> Path:
        return self._directory / provider / f"{profile}.json"
