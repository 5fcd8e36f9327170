"""Keyring backends that are not well, chosen by PYTHON_KEYRING_BACKEND."""

import os
import time
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked


class _Backend(KeyringBackend):
    priority = 5.0

    def get_password(self, service: str, username: str) -> str | None:
        raise NotImplementedError

    def set_password(self, service: str, username: str, password: str) -> None:
        raise NotImplementedError

    def delete_password(self, service: str, username: str) -> None:
        raise NotImplementedError


class Hanging(_Backend):
    """Waits for a person at a dialog that nobody sees."""

    def get_password(self, service: str, username: str) -> str | None:
        del service, username
        time.sleep(60)
        return None


class Locked(_Backend):
    """Its person has closed the dialog."""

    def get_password(self, service: str, username: str) -> str | None:
        del service, username
        raise KeyringLocked("the dialog was closed")


class Telling(_Backend):
    """Fails, and says what it was given."""

    def get_password(self, service: str, username: str) -> str | None:
        del service, username
        return None

    def set_password(self, service: str, username: str, password: str) -> None:
        del service, username
        raise RuntimeError(f"cannot keep {password}")


class Plain(_Backend):
    """Works, but keeps everything in the open, and so is not recommended."""

    priority = 0.5


class Folder(_Backend):
    """Works: one file an entry, in the directory that a variable names."""

    def get_password(self, service: str, username: str) -> str | None:
        path = self._path(service, username)
        return path.read_text() if path.exists() else None

    def set_password(self, service: str, username: str, password: str) -> None:
        self._path(service, username).write_text(password)

    def delete_password(self, service: str, username: str) -> None:
        self._path(service, username).unlink()

    def _path(self, service: str, username: str) -> Path:
        return Path(os.environ["TEST_KEYRING"], f"{service}-{username.replace('/', '-')}")
