"""Writing an adapter's files into a room."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from homeroom.errors import StateError, StorageError
from homeroom.files import ensure_private_dir, explain, read_regular, replace_private

_LIMIT = 64 * 1024 * 1024


def merge(path: Path, patch: Mapping[str, Any]) -> None:
    """Merge keys into a JSON or TOML file of a room, keeping every other key.

    Args:
        path: The file, by whose ending its format is known; made 0600 (and its directory
            0700) when it is missing.
        patch: Tables are merged key by key, everything else replaces what is there.

    Raises:
        StorageError: What is there cannot be parsed, or the file cannot be written.
        StateError: Its directory is not private.
    """
    try:
        text = read_regular(path, _LIMIT).decode()
    except FileNotFoundError:
        text = ""
    except UnicodeDecodeError as error:
        raise StorageError(f"{path} is not UTF-8") from error
    render = _merge_toml if path.suffix == ".toml" else _merge_json
    write(path, render(path, text, patch).encode())


def _merge_json(path: Path, text: str, patch: Mapping[str, Any]) -> str:
    try:
        current = json.loads(text) if text else {}
    except (ValueError, RecursionError) as error:
        raise StorageError(f"{path} is not valid JSON: {_reason(error)}") from None
    if not isinstance(current, dict):
        raise StorageError(f"{path} does not hold a JSON object")
    return json.dumps(merged(current, patch), indent=2)


def _merge_toml(path: Path, text: str, patch: Mapping[str, Any]) -> str:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text)
    except (TOMLKitError, RecursionError) as error:
        raise StorageError(f"{path} is not valid TOML: {_reason(error)}") from None
    _merge_into(document, patch)
    return tomlkit.dumps(document)


def _merge_into(table: Any, patch: Mapping[str, Any]) -> None:  # noqa: ANN401
    """Merge in place: a comment lives in the document, a copy would lose it."""
    for key, value in patch.items():
        if isinstance(value, Mapping):
            if not isinstance(table.get(key), Mapping):
                table[key] = {}
            _merge_into(table[key], value)
        else:
            table[key] = value


def _reason(error: Exception) -> str:
    # Not the text around the error: it may be a part of a secret.
    return str(getattr(error, "msg", type(error).__name__))


def merged(base: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a table with another one merged into it, level by level."""
    result = dict(base)
    for key, value in patch.items():
        old = result.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            result[key] = merged(old, value)
        else:
            result[key] = value
    return result


def write(path: Path, content: bytes) -> None:
    """Write a file of a room, 0600 in directories 0700.

    Raises:
        StateError: Its directory is not private, or may not be written.
        StorageError: The operating system refused, a full disk for one.
    """
    ensure_private_dir(path.parent)
    try:
        replace_private(path, content)
    except OSError as error:
        raise explain(error, path, "write") from error


def require_home(home: Path) -> None:
    """Refuse to write where there is no room: never into the user's own store instead.

    Raises:
        StateError: The home is empty, relative or does not exist.
    """
    if not os.path.isabs(home) or not home.is_dir():
        raise StateError(f"there is no room at {str(home)!r} to write into")
