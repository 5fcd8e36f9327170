"""Where homeroom keeps things, and the short place for a run's temporary files."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

HOME_VARIABLE = "HOMEROOM_HOME"
MEMORY_VARIABLE = "XDG_RUNTIME_DIR"

# A unix socket path ends at 107 bytes (sun_path in unix(7)). srt and the agents put
# sockets with names of up to 50 characters into TMPDIR.
LONGEST_TEMP_ROOT = 107 - 50 - len("/0123456789ab/t/")


class Paths(msgspec.Struct, frozen=True):
    """The directories of one homeroom, all absolute, and free of symlinks but for one.

    Attributes:
        config: Holds ``config.toml``, written by the user.
        data: Holds the toolchains; everything in it can be made again.
        state: Holds runs, instances, transcripts and the trash.
        temp: Holds a short temporary directory for each live run.
        memory: Where rooms can be kept in memory, if there is such a place at all. It is
            this homeroom's own: another one with other directories has another.
        named_config: The same as ``config``, with the symlinks by which the user's
            environment names it: whoever made one decides what is read.
    """

    config: Path
    data: Path
    state: Path
    temp: Path
    memory: Path | None = None
    named_config: Path | None = None

    @property
    def config_file(self) -> Path:
        """The user's configuration file, which ``trust`` reads."""
        return (self.named_config or self.config) / "config.toml"

    @property
    def toolchains(self) -> Path:
        """One directory for each set of pins."""
        return self.data / "toolchains"

    @property
    def instances(self) -> Path:
        """One directory for each live run."""
        return self.state / "instances"

    @property
    def runs(self) -> Path:
        """One record for each run, and a lock for each live one."""
        return self.state / "runs"

    @property
    def transcripts(self) -> Path:
        """One directory for each run that left some."""
        return self.state / "transcripts"

    @property
    def places(self) -> Path:
        """One file for each place in memory that rooms were kept in, with its path."""
        return self.state / "memory"

    @property
    def trash(self) -> Path:
        """Trees on their way out."""
        return self.state / "trash"


def locate(environ: Mapping[str, str]) -> Paths:
    """Find homeroom's directories without making any of them.

    Args:
        environ: The caller's environment; ``HOMEROOM_HOME`` moves everything under
            one root, else the platform's own conventions decide.

    Returns:
        The directories, with every symlink on the way resolved: srt loses denies and
        writes on paths that go through one (measured, srt 0.0.23 to 0.0.83).
    """
    moved = environ.get(HOME_VARIABLE, "")
    if moved:
        root = Path(os.path.realpath(moved))
        own = root / "tmp"
        fits = len(os.fsencode(own)) <= LONGEST_TEMP_ROOT and _is_plain(own)
        return Paths(
            config=root / "config",
            data=root / "data",
            state=root / "state",
            temp=own if fits else _shared_temp(),
            memory=_in_memory(environ, root / "state"),
            named_config=_as_named(moved, "config"),
        )
    import platformdirs

    state = Path(os.path.realpath(platformdirs.user_state_dir("homeroom")))
    named_config = platformdirs.user_config_dir("homeroom")
    return Paths(
        config=Path(os.path.realpath(named_config)),
        data=Path(os.path.realpath(platformdirs.user_data_dir("homeroom"))),
        state=state,
        temp=_shared_temp(),
        memory=_in_memory(environ, state),
        named_config=_as_named(named_config),
    )


def _as_named(*parts: str) -> Path | None:
    path = Path(*parts)
    if not path.is_absolute():
        path = os.getcwd() / path
    # To the kernel "missing/.." is nothing; resolving passes over it, and what a user
    # wrote there counts.
    return path if os.path.lexists(path) else None


def _is_plain(path: Path) -> bool:
    """Tell whether srt can put sockets there: it names them to a shell and to socat, unquoted."""
    return all(letter.isalnum() or letter in "/._-+@" for letter in str(path))


def _in_memory(environ: Mapping[str, str], state: Path) -> Path | None:
    base = environ.get(MEMORY_VARIABLE, "")
    if not os.path.isabs(base):
        return None
    # Short, for the same reason as the temporary directory, which is below it.
    own = hashlib.sha256(os.fsencode(state)).hexdigest()[:8]
    return Path(os.path.realpath(base)) / f"homeroom-{own}"


def _shared_temp() -> Path:
    # Not $TMPDIR: it may be long, and it may be a run's own when homeroom runs in a room.
    return Path(os.path.realpath("/tmp")) / f"homeroom-{os.geteuid()}"  # noqa: S108
