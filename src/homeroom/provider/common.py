"""What adapters have in common: reading the user's store, and what an agent left."""

import base64
import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from homeroom import seeding
from homeroom.errors import CredentialError, StorageError
from homeroom.files import read_regular
from homeroom.provider.values import Room, SeedFile, SlashCommand

_LIMIT = 64 * 1024 * 1024
_TRANSCRIPT_LIMIT = 1024 * 1024 * 1024
_TREE_FILES = 2000
_COMMAND_DEPTH = 8
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
        return seeding.parse_object(text)
    except ValueError as error:
        raise CredentialError(f"{path} is not valid JSON: {error}", CURE) from None


def inside(base: Path, name: str) -> Path | None:
    """Place a name below a room's home or a workspace, in which an agent may have written.

    Args:
        base: The directory.
        name: Relative to it.

    Returns:
        The path; None when the base is no absolute path, or a symlink leads out of it.
    """
    if not os.path.isabs(base):
        return None
    real = Path(os.path.realpath(base / name))
    return base / name if real.is_relative_to(os.path.realpath(base)) else None


def read_room_object(home: Path, name: str) -> dict[str, Any]:
    """Read a JSON object that an agent wrote; {} for anything that is not one.

    Args:
        home: The instance home.
        name: The file, relative to it.
    """
    path = inside(home, name)
    try:
        return seeding.parse_object(read_regular(path, _LIMIT).decode()) if path else {}
    except (OSError, StorageError, ValueError):
        return {}


def read_room_toml(home: Path, name: str) -> dict[str, Any] | None:
    """Read a TOML file that an agent wrote; None for anything that is not one.

    Args:
        home: The instance home.
        name: The file, relative to it.
    """
    import tomllib

    path = inside(home, name)
    try:
        return tomllib.loads(read_regular(path, _LIMIT).decode()) if path else None
    except (OSError, StorageError, ValueError, RecursionError):
        return None


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


class Elsewhere(msgspec.Struct, frozen=True):
    """By what an agent can be let in without a login.

    Attributes:
        variables: How names of variables begin that do so.
        files: A project's settings, looked for from the workspace up to the project's top.
        words: What stands in settings that do so.
    """

    variables: tuple[str, ...]
    files: tuple[str, ...]
    words: tuple[str, ...]


def is_let_in(
    room: Room,
    passed: Iterable[str],
    seeds: Iterable[SeedFile],
    machine: Iterable[str],
    elsewhere: Elsewhere,
) -> bool:
    """Tell whether something besides a login lets an agent in, or may do so.

    Args:
        room: The room, as planned.
        passed: Names of the user's variables that the room gets.
        seeds: What will be written into it; JSON and TOML count.
        machine: Where the machine's administrator keeps settings.
        elsewhere: By what.

    Returns:
        Whether there is something; True as well where a file is there and cannot be read.
    """
    if any(name.startswith(elsewhere.variables) for name in passed):
        return True
    if any(os.path.lexists(path) for path in machine):
        return True
    texts = [
        json.dumps(seed.patch).encode() if seed.patch is not None else seed.content
        for seed in seeds
        if seed.path.endswith((".json", ".toml"))
    ]
    directory, top = room.workspace.directory, room.workspace.root
    places = [at for at in (directory, *directory.parents) if at.is_relative_to(top)]
    for path in [at / name for at in places for name in elsewhere.files]:
        try:
            texts.append(read_regular(path, _LIMIT, follow=True))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, StorageError):
            return True
    return any(word.encode() in text for text in texts for word in elsewhere.words)


def built_in_commands(agent: str) -> list[SlashCommand]:
    """List what the pinned version of an agent offers in a fresh home.

    Args:
        agent: Its name. The list is what it shows in its terminal after a "/"; seen in rooms
            with the versions that ``built_in.json`` names.
    """
    document = json.loads(Path(__file__).with_name("built_in.json").read_bytes())
    names = document[agent]["commands"]
    return [SlashCommand(name, "command", "built-in", None) for name in names]


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
        for path in sorted(find_files(base, commands, ".md", _COMMAND_DEPTH))
    ]
    found += [
        SlashCommand(path.parent.name, "skill", origin, path)
        for path in sorted(find_files(base, skills, "SKILL.md", 2))
        if path.name == "SKILL.md" and path.parent != base / skills
    ]
    return found


def read_transcript_file(path: Path) -> bytes:
    """Read a whole transcript that homeroom kept.

    Raises:
        StorageError: It cannot be read; it is named.
    """
    try:
        return read_regular(path, _TRANSCRIPT_LIMIT)
    except FileNotFoundError as error:
        raise StorageError(f"there is no transcript at {path}") from error


def parse_lines(lines: Iterator[bytes]) -> Iterator[dict[str, Any]]:
    """Parse JSON lines; one that is no object (cut off, or being written) is passed over."""
    for line in lines:
        try:
            content = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(content, dict):
            yield content


def find_files(base: Path, name: str, suffix: str, depth: int) -> list[Path]:
    """List regular files of an agent's, no further down than agents go.

    Args:
        base: The instance home or the workspace.
        name: Where to look below it; a missing directory gives none.
        suffix: How the files' names end.
        depth: How many directories to open one within another.
    """
    found: list[Path] = []
    root = inside(base, name)
    level = [root] if root else []
    for _ in range(depth):
        below: list[Path] = []
        for directory in level:
            with contextlib.suppress(OSError), os.scandir(directory) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        below.append(Path(entry.path))
                    elif entry.name.endswith(suffix) and entry.is_file(follow_symlinks=False):
                        found.append(Path(entry.path))
        level = below
    return found


def newest(paths: list[Path]) -> Path | None:
    """Give the file that was changed last."""
    return max(paths, key=changed, default=None)


def changed(path: Path) -> float:
    """Tell when a file was changed, in seconds since the epoch; 0 when nobody can tell."""
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0
