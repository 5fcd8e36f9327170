"""Secrets in the desktop's keyring: Secret Service, KWallet, the macOS Keychain.

Source for the backends and their errors: keyring 25 (``keyring/core.py``,
``keyring/backends/{fail,null,chainer,SecretService}.py``, ``keyring/errors.py``). It takes
about 100 ms to import, so that nobody but this module does, and only when it is needed.
"""

import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from homeroom.errors import CredentialError

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

_T = TypeVar("_T")
SERVICE = "homeroom"
# A keyring may wait for its service, or for a person at a dialog that nobody sees.
LIMIT = 10.0
_OTHERWISE = 'or set vault.store = "file" in config.toml'


class KeyringStore:
    """Entries under the service ``homeroom``, each called ``<provider>/<profile>``."""

    name = "keyring"

    def unavailable(self) -> str | None:
        """Tell why there is no keyring that keeps anything; None when there is one.

        Raises:
            CredentialError: One is configured and cannot be loaded, or it hangs.
        """
        return _within_limit(lambda: _why_not(_backend()))

    def read(self, provider: str, profile: str) -> str | None:
        """Read an entry; None when there is none.

        Raises:
            CredentialError: The keyring is locked, hangs, fails or is not there.
        """
        return self._call(lambda backend: backend.get_password(SERVICE, f"{provider}/{profile}"))

    def write(self, provider: str, profile: str, document: str) -> None:
        """Write an entry; raises as ``read`` does."""
        self._call(lambda backend: backend.set_password(SERVICE, f"{provider}/{profile}", document))

    def remove(self, provider: str, profile: str) -> bool:
        """Remove an entry; raises as ``read`` does.

        Returns:
            Whether there was one.
        """

        def remove(backend: "KeyringBackend") -> bool:
            name = f"{provider}/{profile}"
            # Asked first: one error class stands for "not there" and for "refused".
            if backend.get_password(SERVICE, name) is None:
                return False
            backend.delete_password(SERVICE, name)
            return True

        return self._call(remove)

    def _call(self, action: "Callable[[KeyringBackend], _T]") -> _T:
        def work() -> _T:
            backend = _backend()
            reason = _why_not(backend)
            if reason is not None:
                raise CredentialError(f"no keyring can be reached: {reason}", _cure())
            return action(backend)

        return _within_limit(work)


def _cure() -> str:
    return f"run homeroom in your desktop session, where the keyring is; {_OTHERWISE}"


def _backend() -> "KeyringBackend":
    import keyring

    return keyring.get_keyring()


def _why_not(backend: "KeyringBackend") -> str | None:
    """Tell a backend that keeps secrets from those that keep nothing, or in the open."""
    from keyring.backends import chainer, fail, null

    if isinstance(backend, null.Keyring):
        return "it is switched off (the null backend), and keeps nothing"
    if isinstance(backend, fail.Keyring):
        return "no keyring service answers here (on Linux: none on the D-Bus session)"
    members = backend.backends if isinstance(backend, chainer.ChainerBackend) else [backend]
    # Below 1 are the backends that keyring itself does not recommend, plain files for one.
    if not any(member.priority >= 1 for member in members):
        return f"the backend {type(backend).__module__} is not a recommended one"
    return None


def _within_limit(work: Callable[[], _T]) -> _T:
    """Do something with the keyring in a thread that is left behind if it hangs."""
    outcome: queue.SimpleQueue[tuple[bool, object]] = queue.SimpleQueue()

    def attempt() -> None:
        try:
            outcome.put((True, work()))
        except BaseException as error:  # noqa: BLE001 - it is raised in the caller's thread
            outcome.put((False, error))

    threading.Thread(target=attempt, name="keyring", daemon=True).start()
    try:
        succeeded, value = outcome.get(timeout=LIMIT)
    except queue.Empty:
        raise CredentialError(
            f"the keyring did not answer within {LIMIT:.0f} seconds",
            f"unlock it (a dialog may be waiting), then try again; {_OTHERWISE}",
        ) from None
    if succeeded:
        return value  # type: ignore[return-value]
    if isinstance(value, CredentialError):
        raise value
    raise _explained(value) from None


def _explained(error: object) -> CredentialError:
    """Name what went wrong by its class alone: a backend's text might hold the secret."""
    from keyring import errors

    if isinstance(error, errors.KeyringLocked):
        return CredentialError(
            "the keyring is locked",
            f"unlock it in your desktop session, then try again; {_OTHERWISE}",
        )
    if isinstance(error, ImportError | AttributeError | ValueError | TypeError):
        return CredentialError(
            f"the keyring backend cannot be loaded ({type(error).__name__})",
            f"look at PYTHON_KEYRING_BACKEND and keyringrc.cfg; {_OTHERWISE}",
        )
    return CredentialError(
        f"the keyring failed ({type(error).__name__})",
        f"look whether it works for other programs (`keyring --list-backends`); {_OTHERWISE}",
    )
