"""The user's ``config.toml``: read strictly, so that a typing error never widens a room."""

import re
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec

from homeroom import trust
from homeroom.errors import ConfigError, StorageError

_LIMIT = 1024 * 1024
# What srt 0.0.83 accepts in allowedDomains (dist/sandbox/domain-pattern.js): a name with a
# dot, *.name, an address, an optional port.
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST = re.compile(
    rf"(?:localhost|(?:\*\.)?{_LABEL}(?:\.{_LABEL})+)(?::(?P<port>[1-9][0-9]{{0,4}}))?"
)
_HIGHEST_PORT = 65535
# A room's own processes are about twenty; the kernel has no more pids than the other.
_FEWEST, _MOST = 64, 4194304
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Network(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[network]``: hosts that a run may reach besides the provider's own."""

    allow: tuple[str, ...] = ()


class Files(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[files]``: paths that a run may read or write besides its own."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class Environment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[environment]``: variables of the caller that a run is given as well."""

    inherit: tuple[str, ...] = ()


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[run]``: which agent, and what is kept of a run."""

    provider: str | None = None
    profile: str | None = None
    credentials: Literal["access", "full"] = "access"
    credentials_in: Literal["disk", "memory"] = "disk"
    attribution: bool = True
    archive: Literal["always", "ask", "never"] = "always"
    stop_grace: float = 5.0


class Seed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[seed]``: preferences of the user's that are copied into each room."""

    include: tuple[
        Literal["settings", "commands", "agents", "skills", "instructions", "mcp"], ...
    ] = ()
    hooks: bool = False


class Vault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[vault]``: where homeroom keeps credentials of its own."""

    store: Literal["auto", "keyring", "file"] = "auto"


class Container(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[container]``: what ``start --session container`` runs in."""

    image: str = "homeroom-base:bookworm"
    memory: str = "8g"
    processes: int = 4096


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything a user may set, with the defaults."""

    network: Network = Network()
    files: Files = Files()
    environment: Environment = Environment()
    run: Run = Run()
    seed: Seed = Seed()
    vault: Vault = Vault()
    container: Container = Container()


def load(path: Path) -> Config:
    """Read a configuration file.

    Args:
        path: The file; a missing one means the defaults.

    Returns:
        The configuration.

    Raises:
        ConfigError: It cannot be read, could have been written by somebody else, is no
            TOML, or holds a key or a value that homeroom does not know; the message names
            it and the nearest known key.
    """
    try:
        text = trust.read(path, _LIMIT).decode()
    except FileNotFoundError:
        return Config()
    except (StorageError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}", "make it a readable UTF-8 file") from error
    import tomllib

    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(
            f"{path}: not valid TOML: {error}", "correct the line it names"
        ) from error
    _refuse_unknown(document, Config, path, "")
    _refuse_other_words(document, Config, path, "")
    try:
        config = msgspec.convert(document, Config)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {error}", "see docs/reference/configuration.md") from error
    _check_values(config, path)
    return config


def load_if_possible(path: Path) -> tuple[Config, ConfigError | None]:
    """Read a configuration file for what must work in any case, such as ending a run.

    Args:
        path: The file.

    Returns:
        The configuration and None; or the defaults, and why the file cannot be used.
    """
    try:
        return load(path), None
    except ConfigError as error:
        return Config(), error


def _refuse_unknown(
    document: dict[str, Any], known: type[msgspec.Struct], path: Path, at: str
) -> None:
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(known)}
    for key, value in document.items():
        where = f"{at}{key}"
        if key not in fields:
            import difflib

            near = difflib.get_close_matches(key, fields, n=1, cutoff=0.5)
            hint = f"did you mean {at}{near[0]}?" if near else f"known here: {', '.join(fields)}"
            raise ConfigError(f"{path}: unknown key {where!r}", hint)
        table = fields[key]
        if (
            isinstance(table, type)
            and issubclass(table, msgspec.Struct)
            and isinstance(value, dict)
        ):
            _refuse_unknown(value, table, path, f"{where}.")


def _refuse_other_words(
    document: dict[str, Any], known: type[msgspec.Struct], path: Path, at: str
) -> None:
    """Name the words that a key takes, where it was given another one."""
    for field in msgspec.structs.fields(known):
        value = document.get(field.encode_name)
        where = f"{at}{field.encode_name}"
        table = field.type
        if (
            isinstance(table, type)
            and issubclass(table, msgspec.Struct)
            and isinstance(value, dict)
        ):
            _refuse_other_words(value, table, path, f"{where}.")
        # A list of words has the type tuple[Literal[...], ...].
        kind = get_args(field.type)[0] if get_origin(field.type) is tuple else field.type
        if get_origin(kind) is not Literal:
            continue
        words = get_args(kind)
        given = value if isinstance(value, list) else [value]
        for word in given:
            if isinstance(word, str) and word not in words:
                raise ConfigError(
                    f"{path}: {where}: {word!r} is not known here", f"known: {', '.join(words)}"
                )


def _check_values(config: Config, path: Path) -> None:
    for host in config.network.allow:
        match = _HOST.fullmatch(host)
        if match is None or int(match["port"] or 1) > _HIGHEST_PORT:
            raise ConfigError(
                f"{path}: network.allow: {host!r} is not a host",
                'write "example.org" or "*.example.org:443"',
            )
    for name in config.environment.inherit:
        if not VARIABLE.fullmatch(name):
            raise ConfigError(f"{path}: environment.inherit: {name!r} is not a variable's name")
    for field in msgspec.structs.fields(Files):
        for entry in getattr(config.files, field.name):
            if not entry.startswith(("/", "~/")) or "\0" in entry:
                raise ConfigError(
                    f"{path}: files.{field.name}: {entry!r} is not absolute",
                    'start it with "/" or "~/"',
                )
    if not 0 <= config.run.stop_grace <= 600:  # noqa: PLR2004
        raise ConfigError(f"{path}: run.stop_grace must lie between 0 and 600 seconds")
    _check_container(config.container, path)


def _check_container(container: Container, path: Path) -> None:
    if not re.fullmatch(r"[1-9][0-9]{0,8}[kmg]", container.memory):
        raise ConfigError(
            f"{path}: container.memory: {container.memory!r} is not an amount of memory",
            'write "512m" or "8g"',
        )
    if not container.image.strip():
        raise ConfigError(f"{path}: container.image is empty", "leave it out for homeroom's own")
    if not _FEWEST <= container.processes <= _MOST:
        raise ConfigError(f"{path}: container.processes must lie between {_FEWEST} and {_MOST}")
