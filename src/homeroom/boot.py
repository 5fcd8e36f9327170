"""A sweep some minutes after each boot: a systemd user timer, or a launchd agent."""

import contextlib
import os
import plistlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from homeroom.errors import StateError
from homeroom.files import explain, replace_private

_NAME = "homeroom-sweep"
_LABEL = "homeroom.sweep"
# What is younger than five minutes is spared: sooner, it would miss what the boot ended.
_DELAY = "6min"
_INTERVAL = 3600
# A unit carries this, so that nobody else's file of that name is replaced or removed.
_MARK = "Written by homeroom setup --boot-sweep"


def install(environ: Mapping[str, str], user_home: Path, command: Sequence[str]) -> list[Path]:
    """Write what makes the machine sweep after each boot.

    Args:
        environ: The caller's environment; ``HOMEROOM_HOME`` is carried along.
        user_home: The user's home.
        command: How homeroom is run.

    Returns:
        The files. They take effect with the user's next login session.

    Raises:
        StateError: A file of that name is there and not homeroom's, or cannot be written.
    """
    moved = {name: environ[name] for name in ("HOMEROOM_HOME",) if environ.get(name)}
    written = _documents(environ, user_home, [*command, "sweep"], moved)
    for path in written:
        if os.path.lexists(path) and not _is_ours(path):
            raise StateError(f"{path} is there already, and not homeroom's", "move it away")
    for path, content in written.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_private(path, content)
            if path.suffix == ".timer":
                link = _enabled(path)
                link.parent.mkdir(exist_ok=True)
                link.unlink(missing_ok=True)
                link.symlink_to(path)
        except OSError as error:
            raise explain(error, path, "write") from error
    return list(written)


def remove(environ: Mapping[str, str], user_home: Path) -> list[Path]:
    """Remove it again.

    Returns:
        What was removed; nothing where there was nothing of homeroom's.
    """
    gone = []
    for path in _documents(environ, user_home, ["homeroom"], {}):
        if _is_ours(path):
            with contextlib.suppress(FileNotFoundError):
                _enabled(path).unlink()
            path.unlink()
            gone.append(path)
    return gone


def _is_ours(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and _MARK.encode() in path.read_bytes()


def _enabled(timer: Path) -> Path:
    return timer.parent / "timers.target.wants" / timer.name


def _documents(
    environ: Mapping[str, str], user_home: Path, argv: list[str], moved: Mapping[str, str]
) -> dict[Path, bytes]:
    if sys.platform == "darwin":
        agent = {
            "Comment": _MARK,
            "EnvironmentVariables": dict(moved),
            "Label": _LABEL,
            "ProgramArguments": argv,
            "RunAtLoad": True,
            "StartInterval": _INTERVAL,
        }
        place = user_home / "Library" / "LaunchAgents" / f"{_LABEL}.plist"
        return {place: plistlib.dumps(agent)}
    configured = environ.get("XDG_CONFIG_HOME", "")
    base = Path(configured) if os.path.isabs(configured) else user_home / ".config"
    units = base / "systemd" / "user"
    lines = [f"Environment={_quoted(f'{name}={value}')}" for name, value in moved.items()]
    service = [
        f"# {_MARK}",
        "[Unit]",
        "Description=Remove the rooms of homeroom runs that died",
        "[Service]",
        "Type=oneshot",
        *lines,
        f"ExecStart={' '.join(_quoted(word) for word in argv)}",
    ]
    timer = [
        f"# {_MARK}",
        "[Unit]",
        "Description=Remove the rooms of homeroom runs that died, after each boot",
        "[Timer]",
        f"OnStartupSec={_DELAY}",
        "[Install]",
        "WantedBy=timers.target",
    ]
    return {
        units / f"{_NAME}.service": "\n".join([*service, ""]).encode(),
        units / f"{_NAME}.timer": "\n".join([*timer, ""]).encode(),
    }


def _quoted(word: str) -> str:
    """Quote a word for a unit file (systemd.syntax(7), systemd.unit(5) on specifiers)."""
    if "\n" in word:
        raise StateError(f"{word!r} cannot be named in a unit", "move it to another directory")
    plain = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain.replace("%", "%%").replace("$", "$$")}"'
