"""What the vault holds, without the secrets: known without asking a keyring."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from homeroom.credential.secret import CredentialKind
from homeroom.errors import CredentialError, StorageError, TryAgainError
from homeroom.files import PRIVATE_FILE, ensure_private_dir, explain, read_regular, replace_private

_LIMIT = 4 * 1024 * 1024
_PATIENCE = 30.0
_POLL = 0.05

StoreName = Literal["keyring", "file"]


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One login that the vault holds.

    Attributes:
        provider: The agent's name.
        profile: Which of its logins.
        kind: A key, a token or a grant.
        digest: Tells it from another one and gives nothing away.
        saved_at: Seconds since the epoch.
        store: Where the secret is.
        expires_at: When an access token stops working, in seconds since the epoch.
    """

    provider: str
    profile: str
    kind: CredentialKind
    digest: str
    saved_at: float
    store: StoreName
    expires_at: float | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What the entry is called by."""
        return self.provider, self.profile


class _Index(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    schema: Literal[1] = 1
    entries: tuple[Entry, ...] = ()


class Index:
    """The list of entries, in one file.

    Args:
        directory: The vault's own; it need not exist before something is written.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path = directory / "index.json"

    def entries(self) -> tuple[Entry, ...]:
        """Read all entries; none when there is no file yet.

        Raises:
            CredentialError: The file cannot be read; it is named.
        """
        cure = f"move {self._path} out of the way, then run `homeroom login` again"
        try:
            content = read_regular(self._path, _LIMIT)
        except FileNotFoundError:
            return ()
        except StorageError as error:
            raise CredentialError(str(error), cure) from error
        try:
            return msgspec.json.decode(content, type=_Index).entries
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            raise CredentialError(
                f"{self._path} is damaged or of another version of homeroom", cure
            ) from None

    def find(self, provider: str, profile: str) -> Entry | None:
        """Read one entry.

        Raises:
            CredentialError: The file cannot be read.
        """
        wanted = (provider, profile)
        return next((entry for entry in self.entries() if entry.key == wanted), None)

    def set(self, entry: Entry) -> None:
        """Add or replace an entry, under the lock.

        Raises:
            CredentialError: What is there cannot be read.
            StateError: The directory cannot be written to.
            StorageError: The operating system refused, a full disk for one.
        """
        self._write([*(other for other in self.entries() if other.key != entry.key), entry])

    def remove(self, provider: str, profile: str) -> None:
        """Take an entry out, under the lock; raises as ``set`` does."""
        key = (provider, profile)
        self._write([entry for entry in self.entries() if entry.key != key])

    def _write(self, entries: list[Entry]) -> None:
        content = msgspec.json.encode(
            _Index(entries=tuple(sorted(entries, key=lambda entry: entry.key)))
        )
        try:
            replace_private(self._path, msgspec.json.format(content))
        except OSError as error:
            raise explain(error, self._path, "write") from error

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other homeroom from changing a master store meanwhile.

        Raises:
            StateError: The directory cannot be used.
            TryAgainError: Another homeroom has been at it for too long.
        """
        ensure_private_dir(self._directory)
        path = self._directory / "lock"
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            descriptor = os.open(path, flags, PRIVATE_FILE)
        except OSError as error:
            raise explain(error, path, "make the lock") from error
        try:
            _wait_for(descriptor, path)
            yield
        finally:
            os.close(descriptor)


def _wait_for(descriptor: int, path: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TryAgainError(
                    "another homeroom is at work in the vault", "wait for it, then try again"
                ) from None
            time.sleep(_POLL)
        except OSError as error:
            raise explain(error, path, "lock") from error
        else:
            return
