"""homeroom's own master store: credentials by provider and profile."""

import contextlib
import re
import time
from collections.abc import Callable
from typing import Literal, Protocol

from homeroom.credential import document
from homeroom.credential.file_store import FileStore
from homeroom.credential.index import Entry, Index, StoreName
from homeroom.credential.secret import Credential
from homeroom.errors import CredentialError, HomeroomError, UsageError
from homeroom.paths import Paths

DEFAULT_PROFILE = "default"
# Lower case, because some file systems take two spellings for one name.
_PROFILE = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}")

Preference = Literal["auto", "keyring", "file"]

_WHERE = {
    "keyring": "the entry of the service homeroom in your keyring",
    "file": "its file below the state directory's vault/files",
}


class Store(Protocol):
    """An adapter for a place that keeps one secret text for each provider and profile."""

    @property
    def name(self) -> str:
        """How the index calls it."""

    def read(self, provider: str, profile: str) -> str | None:
        """Read a text.

        Returns:
            None when there is none; never because the place could not be asked.

        Raises:
            HomeroomError: The place is locked, hangs, fails or is not there.
        """

    def write(self, provider: str, profile: str, document: str) -> None:
        """Keep a text, in the place of an older one; raises as ``read`` does."""

    def remove(self, provider: str, profile: str) -> bool:
        """Forget a text; tells whether there was one, and raises as ``read`` does."""


class Vault:
    """The entries, each in the store that its line in the index names.

    Making one reads nothing: on a machine without entries no keyring is ever asked.

    Args:
        paths: homeroom's directories.
        preference: Where new entries go.
    """

    def __init__(self, paths: Paths, preference: Preference) -> None:
        self._files = paths.state / "vault" / "files"
        self._preference = preference
        self._index = Index(paths.state / "vault")

    def entries(self) -> tuple[Entry, ...]:
        """List what there is, without any secret.

        Raises:
            CredentialError: The index cannot be read.
        """
        return self._index.entries()

    def find(self, provider: str, profile: str) -> Entry | None:
        """Look an entry up, without its secret; raises as ``entries`` does."""
        return self._index.find(provider, profile)

    def get(self, provider: str, profile: str) -> Credential | None:
        """Read a credential.

        Returns:
            It, or None when the vault has no such entry.

        Raises:
            CredentialError: The index names an entry whose secret is gone, damaged, or in
                a keyring that cannot be asked.
        """
        entry = self.find(provider, profile)
        if entry is None:
            return None
        text = self._store(entry.store).read(provider, profile)
        name = f"the login of {provider}, profile {profile}, in the {entry.store} store"
        cure = f"run `{command('login', provider, profile)}` again"
        if text is None:
            raise CredentialError(f"{name} is gone", cure)
        source = f"homeroom's vault ({entry.store}), profile {profile}"
        return document.decode(text, name, source, cure)

    def locked(self) -> contextlib.AbstractContextManager[None]:
        """Keep every other homeroom from changing a master store meanwhile.

        Raises:
            StateError: The vault's directory cannot be used.
            TryAgainError: Another homeroom has been at it for too long.
        """
        return self._index.locked()

    def destination(self) -> tuple[StoreName, str | None]:
        """Tell where a new entry would go.

        Returns:
            The store's name, and why it is not the keyring where that was hoped for.

        Raises:
            CredentialError: A keyring is demanded and there is none, or it hangs.
        """
        if self._preference == "file":
            return "file", None
        from homeroom.credential.keyring_store import KeyringStore

        reason = KeyringStore().unavailable()
        if reason is None:
            return "keyring", None
        if self._preference == "keyring":
            raise CredentialError(
                f'vault.store is "keyring", but there is none: {reason}',
                'run homeroom in your desktop session, or set vault.store to "auto" or "file"',
            )
        return "file", reason

    def wake(self, store: StoreName, provider: str, profile: str) -> None:
        """Have a store answer, so that a locked one says so before somebody logs in.

        Raises:
            CredentialError: It is locked, hangs or fails.
            StateError: Its directory is open to others.
        """
        self._store(store).read(provider, profile)

    def put(self, provider: str, profile: str, credential: Credential) -> Entry:
        """Keep a credential, in the place of an older one.

        Returns:
            Its line in the index.

        Raises:
            CredentialError: The keyring is locked, hangs or fails; nothing has changed.
            StateError: The vault's directory cannot be used.
            StorageError: The operating system refused, a full disk for one.
        """
        destination, _ = self.destination()
        with self.locked():
            return self._put(provider, profile, credential, destination)

    def renew(
        self,
        provider: str,
        profile: str,
        credential: Credential,
        is_better: Callable[[Credential], bool],
    ) -> bool:
        """Replace an entry's credential, where it is, by one that is better.

        Args:
            provider: The agent's name.
            profile: Which of its logins.
            credential: The new one.
            is_better: Asked, with nobody else at work in the vault, about the old one.

        Returns:
            Whether it was replaced; not when there is no such entry any more.

        Raises:
            HomeroomError: As ``get`` and ``put``; the old one is still there.
        """
        with self.locked():
            entry = self.find(provider, profile)
            current = self.get(provider, profile)
            if entry is None or current is None or not is_better(current):
                return False
            self._put(provider, profile, credential, entry.store)
            return True

    def _put(
        self, provider: str, profile: str, credential: Credential, destination: StoreName
    ) -> Entry:
        before = self.find(provider, profile)
        entry = Entry(
            provider=provider,
            profile=profile,
            kind=credential.kind,
            digest=credential.secret.digest(),
            saved_at=time.time(),
            store=destination,
            expires_at=credential.expires_at,
        )
        store = self._store(destination)
        store.write(provider, profile, document.encode(credential))
        try:
            self._index.set(entry)
        except BaseException:
            # What no index names would never be removed.
            if before is None:
                store.remove(provider, profile)
            raise
        if before is not None and before.store != destination:
            self._forget(before)
        return entry

    def _forget(self, entry: Entry) -> None:
        """Remove the copy in the store that an entry was in before."""
        try:
            self._store(entry.store).remove(*entry.key)
        except HomeroomError as error:
            raise CredentialError(
                f"the new login is saved, but the old one is still in the {entry.store} store: "
                f"{error.message}",
                f"remove {_WHERE[entry.store]} by hand",
            ) from error

    def delete(self, provider: str, profile: str) -> bool:
        """Forget an entry.

        Returns:
            Whether there was one.

        Raises:
            CredentialError: The keyring cannot be asked; the entry stays.
            StateError: The vault's directory cannot be used.
            StorageError: The operating system refused.
        """
        if self.find(provider, profile) is None:
            return False
        with self.locked():
            entry = self.find(provider, profile)
            if entry is None:
                return False
            self._store(entry.store).remove(provider, profile)
            self._index.remove(provider, profile)
            return True

    def _store(self, name: StoreName) -> Store:
        if name == "file":
            return FileStore(self._files)
        from homeroom.credential.keyring_store import KeyringStore

        return KeyringStore()


def open_vault(paths: Paths, preference: Preference) -> Vault:
    """Give the vault; nothing is read or made yet.

    Args:
        paths: homeroom's directories.
        preference: ``vault.store`` of the configuration.
    """
    return Vault(paths, preference)


def command(verb: str, provider: str, profile: str) -> str:
    """Spell a homeroom command about an entry, for a hint."""
    words = ["homeroom", verb, provider]
    words += ["--profile", profile] if profile != DEFAULT_PROFILE else []
    return " ".join(words)


def check_profile(name: str, source: str) -> str:
    """Refuse a name that cannot be a profile's.

    Args:
        name: As the user wrote it.
        source: Where: an option, a variable, a key of the configuration.

    Returns:
        The same name.

    Raises:
        UsageError: It is empty, too long, or holds something else than lower-case letters,
            digits and ``. _ @ + -``.
    """
    if not _PROFILE.fullmatch(name):
        raise UsageError(
            f"{source}: {name!r} cannot be a profile's name",
            "use up to 64 lower-case letters, digits and . _ @ + -",
        )
    return name
