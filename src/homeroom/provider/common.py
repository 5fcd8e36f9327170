"""What adapters have in common: reading the user's store, and what an agent left."""

import base64
import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from homeroom import seeding
from homeroom.errors import CredentialError, StorageError
from homeroom.files import read_regular
from homeroom.provider.values import SeedFile, SlashCommand

_LIMIT = 64 * 1024 * 1024
_TREE_FILES = 2000
_TREE_BYTES = 32 * 1024 * 1024
CURE = "repair it with the agent itself, or start with --api-key-env NAME or --no-credentials"


def apply(home: Path, seed: SeedFile) -> None:
    """Write one seed into a room.

    Args:
        home: The instance home, which exists.
        seed: What to write.

    Raises:
        StateError: There is no such home.
        StorageError: What is there cannot be merged with, or the file not be written.
    """
    seeding.require_home(home)
    if seed.patch is None:
        seeding.write(home / seed.path, seed.content)
    else:
        seeding.merge(home / seed.path, seed.patch)


def read_user_text(path: Path) -> str | None:
    """Read a text file of the user's own; None when there is no such file.

    Raises:
        CredentialError: It cannot be read; it is named.
    """
    try:
        return read_regular(path, _LIMIT, follow=True).decode()
    except FileNotFoundError:
        return None
    except StorageError as error:
        raise CredentialError(str(error), CURE) from error
    except UnicodeDecodeError:
        raise CredentialError(f"{path} is not UTF-8", CURE) from None


def read_user_object(path: Path) -> dict[str, Any]:
    """Read a JSON object from the user's own store; {} when there is no such file.

    Raises:
        CredentialError: It cannot be read or is no JSON object; it is named, and nothing
            of its content, which may be a secret, is in the message.
    """
    text = read_user_text(path)
    if text is None:
        return {}
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", type(error).__name__)
        raise CredentialError(f"{path} is not valid JSON: {reason}", CURE) from None
    if not isinstance(content, dict):
        raise CredentialError(f"{path} does not hold a JSON object", CURE)
    return content


def read_room_object(path: Path) -> dict[str, Any]:
    """Read a JSON object that an agent wrote; {} for anything that is not one."""
    try:
        content = json.loads(read_regular(path, _LIMIT))
    except (OSError, StorageError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def replace_user_object(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON object of the user's own, whole or not at all.

    Args:
        path: The file; behind a symlink its target is replaced, the link stays.
        content: The object.

    Raises:
        OSError: It could not be written; the old content stays.
    """
    from homeroom.files import replace_private

    replace_private(Path(os.path.realpath(path)), json.dumps(content).encode())


def token_expiry(token: str) -> float | None:
    """Read when a JSON web token expires (RFC 7519, 4.1.4), without checking it.

    Returns:
        Seconds since the epoch, or None when it does not say.
    """
    try:
        body = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        return float(claims["exp"])
    except (IndexError, KeyError, TypeError, ValueError):
        return None


def copy_tree(directory: Path, to: str) -> list[SeedFile]:
    """Give the files below a directory of the user's as seeds.

    Args:
        directory: A directory of the user's; a missing one gives nothing.
        to: Where they go, relative to the instance home.

    Raises:
        CredentialError: A file cannot be read, or there are too many or too large ones.
    """
    seeds: list[SeedFile] = []
    size = 0
    for parent, _, files in os.walk(directory):
        for name in sorted(files):
            path = Path(parent, name)
            try:
                content = read_regular(path, _LIMIT, follow=True)
            except FileNotFoundError:
                continue
            except StorageError as error:
                raise CredentialError(str(error), "leave it out of [seed]") from error
            size += len(content)
            if size > _TREE_BYTES or len(seeds) >= _TREE_FILES:
                raise CredentialError(
                    f"{directory} is too large to be carried into every room",
                    "leave it out of [seed]",
                )
            seeds.append(SeedFile(f"{to}/{path.relative_to(directory)}", content=content))
    return seeds


def find_commands(
    base: Path, origin: Literal["user", "project"], *, commands: str, skills: str
) -> list[SlashCommand]:
    """List commands (``<name>.md``) and skills (``<name>/SKILL.md``) below a directory.

    Args:
        base: The home or the workspace.
        origin: Which of the two.
        commands: The directory of the commands, relative to it.
        skills: The directory of the skills, relative to it.
    """
    found = [
        SlashCommand(
            ":".join(path.relative_to(base / commands).with_suffix("").parts),
            "command",
            origin,
            path,
        )
        for path in sorted((base / commands).rglob("*.md"))
    ]
    found += [
        SlashCommand(path.parent.name, "skill", origin, path)
        for path in sorted((base / skills).glob("*/SKILL.md"))
    ]
    return found


def parse_lines(lines: Iterator[bytes]) -> Iterator[dict[str, Any]]:
    """Parse JSON lines; one that is no object (cut off, or being written) is passed over."""
    for line in lines:
        try:
            content = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(content, dict):
            yield content


def find_files(root: Path, suffix: str, depth: int) -> list[Path]:
    """List files of an agent's, following no symlink, no further down than agents go.

    Args:
        root: Where to look; a missing one gives none.
        suffix: How their names end.
        depth: How many directories to open one within another.
    """
    found: list[Path] = []
    level = [] if root.is_symlink() else [root]
    for _ in range(depth):
        below: list[Path] = []
        for directory in level:
            with contextlib.suppress(OSError), os.scandir(directory) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        below.append(Path(entry.path))
                    elif entry.name.endswith(suffix):
                        found.append(Path(entry.path))
        level = below
    return found


def newest(paths: list[Path]) -> Path | None:
    """Give the file that was changed last."""

    def changed(path: Path) -> float:
        try:
            return os.lstat(path).st_mtime
        except FileNotFoundError:
            return 0.0

    return max(paths, key=changed, default=None)
