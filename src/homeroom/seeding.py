"""Writing an adapter's files into a room."""

import json
import math
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
        current = parse_object(text) if text else {}
    except ValueError as error:
        raise StorageError(f"{path} is not valid JSON: {error}") from None
    # Sorted, so that a room is the same to the byte whatever was written first.
    return json.dumps(merged(current, patch), indent=2, sort_keys=True)


def parse_object(text: str) -> dict[str, Any]:
    """Parse a JSON object, and refuse what two readers could take for two things.

    Args:
        text: The document.

    Returns:
        The object.

    Raises:
        ValueError: It is not valid, is no object, holds a key twice, or a number that JSON
            has not. What it says may be shown: nothing of the content is in it.
    """
    try:
        content = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_finite, parse_float=_finite
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(error.msg) from None
    if isinstance(content, dict):
        return content
    raise ValueError("it does not hold an object")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a key stands in it twice")
    return content


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("it holds a number that is none")
    return number


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
