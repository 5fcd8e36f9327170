"""Everything that ``start`` would do, computed without doing any of it."""

import os
import pwd
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from homeroom import environment, git, home, policy, provider, workspace
from homeroom.config import Config
from homeroom.credential.secret import Credential, Secret
from homeroom.errors import ConfigError, CredentialError, StateError, ToolError, UsageError
from homeroom.paths import Paths
from homeroom.policy import Policy
from homeroom.provider import MasterStore, Provider, Room, SeedFile
from homeroom.sandbox import Command, Host, Inside, Mode
from homeroom.sandbox.srt import Srt, called_programs, sandbox_path
from homeroom.toolchain import store
from homeroom.toolchain.store import Toolchain
from homeroom.toolchain.system import locate_system_tools

# Files that hold secrets of the user's on many machines: where they exist, the prelude
# proves that the run cannot read them.
_TELLTALE = (
    ".aws/credentials",
    ".config/gh/hosts.yml",
    ".git-credentials",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".ssh/id_ecdsa",
    ".ssh/id_ed25519",
    ".ssh/id_rsa",
)


@dataclass(frozen=True)
class Request:
    """What the user asked for.

    Attributes:
        agent: The provider's name.
        arguments: For the agent's CLI, as they are.
        directory: Where to work, as given.
        api_key_env: The variable of the caller's that holds an API key, or None.
        use_credentials: Whether the user's own store is looked at.
        inherit: Names of variables of the caller's to pass in.
        endpoint: The base URL of a model server that stands in for the vendor (the demo).
        interactive: Whether a person's terminal is on standard input.
    """

    agent: str
    arguments: tuple[str, ...] = ()
    directory: Path = Path()
    api_key_env: str | None = None
    use_credentials: bool = True
    inherit: tuple[str, ...] = ()
    endpoint: str | None = None
    interactive: bool = False


@dataclass(frozen=True)
class Plan:
    """One run, decided in full.

    Attributes:
        provider: The adapter.
        room: What the adapter is told.
        instance: The run's places.
        toolchain: The tools it would use.
        host: The same and the system's tools, for the sandbox.
        policy: What the run may do.
        settings: The policy in the sandbox's own terms.
        seeds: Files that are seeded, as JSON keys to merge.
        gitconfig: The text of the room's git configuration, or empty.
        credential: What is injected, or None for a room that starts logged out.
        inside: What runs inside, without what the injection adds.
        command: The process that is started.
        mode: Whether the agent has a parent in the sandbox.
        missing: Tools that are not there; a run with any cannot be started.
    """

    provider: Provider
    room: Room
    instance: home.Instance
    toolchain: Toolchain
    host: Host
    policy: Policy
    settings: bytes
    seeds: tuple[SeedFile, ...]
    gitconfig: str
    credential: Credential | None
    inside: Inside
    command: Command
    mode: Mode
    missing: tuple[str, ...] = field(default=())


def make(
    request: Request, environ: Mapping[str, str], paths: Paths, config: Config, run_id: str
) -> Plan:
    """Decide a run. Reads the user's files and writes nothing, anywhere.

    Args:
        request: What the user asked for.
        environ: The caller's environment.
        paths: homeroom's directories.
        config: The user's configuration.
        run_id: The run.

    Returns:
        The plan.

    Raises:
        HomeroomError: The workspace, the configuration, the credentials or the toolchain
            cannot be used; its class tells which.
    """
    adapter = provider.get(request.agent)
    homes = user_homes(environ)
    master = adapter.master_store(environ, homes[0])
    place = workspace.find(request.directory, homes, _private(paths, master))
    toolchain = store.find(paths, environ) or store.planned(paths, environ)
    missing = [] if store.find(paths, environ) else ["the toolchain"]
    programs = _programs(environ, missing)
    instance = home.instance_of(paths, run_id)
    tool = toolchain.tools[adapter.tool]
    room = Room(instance.home, place, tool.version, tool.path, request.endpoint)
    needs = adapter.needs(room)
    rules = _policy(place, instance, toolchain, paths, homes, master, config, needs.hosts, environ)
    ripgrep = toolchain.tools["ripgrep"].path
    pinned = [toolchain.tools["node"].path, ripgrep]
    host = Host(toolchain, programs, sandbox_path(programs, pinned))
    sandbox = Srt(host)
    mode: Mode = "job" if request.interactive and os.uname().sysname == "Linux" else "exec"
    return Plan(
        provider=adapter,
        room=room,
        instance=instance,
        toolchain=toolchain,
        host=host,
        policy=rules,
        settings=sandbox.settings(rules),
        seeds=tuple(adapter.seed(room)),
        gitconfig=git.identity(environ),
        credential=_credential(request, adapter, environ, homes[0]),
        inside=Inside(
            argv=tuple(adapter.command(room, request.arguments)),
            environment=_environment(request, adapter, room, instance, environ, config, ripgrep),
            unset=("CLAUDE_CODE_TMPDIR", *needs.unset),
            workspace=place.directory,
            unreadable=(instance.canary, *_telltales(master, homes, rules)),
            unwritable=(instance.runtime / "canary", toolchain.root / f".canary-{run_id}"),
        ),
        command=sandbox.command(instance, mode),
        mode=mode,
        missing=tuple(missing),
    )


def user_homes(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Tell the user's home directories, real and each once.

    Args:
        environ: The caller's environment.

    Returns:
        ``$HOME`` first, then the password file's: programs read ``~/.ssh`` of that one.

    Raises:
        StateError: There is none, or it is the file system's root.
    """
    found = [environ["HOME"]] if environ.get("HOME") else []
    try:
        found.append(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:
        pass
    homes = tuple(dict.fromkeys(Path(os.path.realpath(path)) for path in found))
    if not homes or Path("/") in homes[:1]:
        raise StateError("HOME is not set to a directory of your own", "set HOME, then try again")
    return tuple(path for path in homes if path != Path("/"))


def _private(paths: Paths, master: MasterStore) -> tuple[Path, ...]:
    own = (paths.state, paths.data, paths.config, paths.temp)
    return policy.reduced((*own, *(Path(os.path.realpath(root)) for root in master.roots)))


def _programs(environ: Mapping[str, str], missing: list[str]) -> dict[str, Path]:
    names = ("bwrap", "socat", *called_programs()) if os.uname().sysname == "Linux" else called_programs()
    programs: dict[str, Path] = {}
    for name in names:
        found = shutil.which(name, path=environ.get("PATH", os.defpath))
        if found is None:
            missing.append(name)
        programs[name] = Path(os.path.abspath(found or f"/usr/bin/{name}"))
    return programs


def _policy(  # noqa: PLR0913
    place: workspace.Workspace,
    instance: home.Instance,
    toolchain: Toolchain,
    paths: Paths,
    homes: tuple[Path, ...],
    master: MasterStore,
    config: Config,
    hosts: tuple[str, ...],
    environ: Mapping[str, str],
) -> Policy:
    private = _private(paths, master)
    read = _configured(config, "read", homes[0], private)
    write = _configured(config, "write", homes[0], private)
    runtime_dir = environ.get("XDG_RUNTIME_DIR", "")
    sockets = policy.existing([Path(runtime_dir)] if os.path.isabs(runtime_dir) else [])
    denied = (*homes, *private, *sockets, *_configured(config, "deny", homes[0], ()))
    writable = policy.reduced((instance.home, instance.tmp, place.root, *place.git_directories, *write))
    readable = (instance.runtime, instance.control, toolchain.root, *read)
    return Policy(
        deny_read=policy.reduced(denied),
        allow_read=(*writable, *policy.around(readable, writable)),
        allow_write=writable,
        deny_write=place.guarded(),
        hosts=tuple(dict.fromkeys((*hosts, *config.network.allow))),
    )


def _configured(
    config: Config,
    kind: Literal["read", "write", "deny"],
    user_home: Path,
    private: tuple[Path, ...],
) -> tuple[Path, ...]:
    """Resolve the user's own paths; what would open a secret place is refused."""
    entries: tuple[str, ...] = getattr(config.files, kind)
    resolved = policy.existing(
        user_home / entry[2:] if entry.startswith("~/") else Path(entry) for entry in entries
    )
    for path in resolved:
        for other in private:
            if path.is_relative_to(other) or other.is_relative_to(path):
                raise ConfigError(
                    f"files.{kind}: {path} would open {other}, which no run may see",
                    "name narrower directories",
                )
    return resolved


def _environment(  # noqa: PLR0913
    request: Request,
    adapter: Provider,
    room: Room,
    instance: home.Instance,
    environ: Mapping[str, str],
    config: Config,
    ripgrep: Path,
) -> dict[str, str | Secret]:
    """Build the inner environment: allowed, then chosen by the user, then pinned."""
    values: dict[str, str | Secret] = {**environment.allowed(environ, [str(ripgrep.parent)])}
    for name in (*config.environment.inherit, *request.inherit):
        if name in environ:
            values[name] = Secret(environ[name])
        elif name in request.inherit:
            raise UsageError(f"--env {name}: there is no such variable", "export it first")
    values["HOME"] = str(instance.home)
    values["TMPDIR"] = str(instance.tmp)
    values["HOMEROOM_RUN"] = instance.run_id
    values.update(adapter.environment(room))
    return values


def _credential(
    request: Request, adapter: Provider, environ: Mapping[str, str], user_home: Path
) -> Credential | None:
    if request.endpoint is not None:
        return adapter.demo_credential()
    if request.api_key_env is not None:
        value = environ.get(request.api_key_env, "").strip()
        if not value:
            raise CredentialError(
                f"--api-key-env {request.api_key_env}: that variable is not set or empty",
                "export it, with the API key as its value",
            )
        return Credential("api-key", Secret(value), f"the variable {request.api_key_env}")
    return adapter.discover(environ, user_home) if request.use_credentials else None


def _telltales(master: MasterStore, homes: tuple[Path, ...], rules: Policy) -> list[Path]:
    """Name existing files with secrets that the policy keeps from the run."""
    candidates = [*master.secrets, *(user / name for user in homes for name in _TELLTALE)]
    found: list[Path] = []
    for path in candidates:
        real = Path(os.path.realpath(path))
        if real.is_file() and os.access(real, os.R_OK) and not rules.is_readable(real):
            found.append(real)
    return list(dict.fromkeys(found))


def require_tools(decided: Plan, environ: Mapping[str, str], paths: Paths) -> None:
    """Refuse a plan whose tools are not all there and executable.

    Args:
        decided: The plan.
        environ: The caller's environment.
        paths: homeroom's directories.

    Raises:
        ToolError: One is missing or cannot be executed; it says which, and what to do.
    """
    toolchain = store.require(paths, environ)
    locate_system_tools(environ)
    if decided.missing:
        raise ToolError(f"{decided.missing[0]} is not on PATH", "install it, then try again")
    for tool in toolchain.tools.values():
        # srt and the model server are scripts that the pinned Node.js runs.
        access = os.R_OK if tool.path.suffix == ".js" else os.R_OK | os.X_OK
        if not os.access(tool.path, access):
            raise ToolError(
                f"{tool.name} {tool.version} at {tool.path} is missing or not executable",
                "remove that toolchain's directory and run `homeroom setup`",
            )
