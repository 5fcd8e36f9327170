"""Everything that ``start`` would do, computed without doing any of it."""

import contextlib
import os
import pwd
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from homeroom import choice, environment, git, home, policy, provider, workspace
from homeroom.choice import Chosen, Wish
from homeroom.config import VARIABLE, Config
from homeroom.credential.secret import Credential, Secret
from homeroom.errors import ConfigError, StateError, ToolError, UsageError
from homeroom.paths import Paths
from homeroom.policy import Policy
from homeroom.process import RUN_VARIABLE
from homeroom.provider import MasterStore, Options, Provider, Room, SeedFile
from homeroom.request import Request
from homeroom.sandbox import Command, Host, Inside, Mode
from homeroom.sandbox.srt import CALLED, Srt, sandbox_path
from homeroom.toolchain import store
from homeroom.toolchain.store import Toolchain
from homeroom.toolchain.system import locate_system_tools
from homeroom.workspace import Workspace

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
        seeds: Files that are seeded, in this order.
        chosen: What is injected, or not, and where it is from.
        wish: What that was chosen by, for showing the whole table.
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
    chosen: Chosen
    wish: Wish
    inside: Inside
    command: Command
    mode: Mode
    missing: tuple[str, ...] = field(default=())

    @property
    def credential(self) -> Credential | None:
        """What is injected, or None for a room that starts logged out."""
        return self.chosen.credential


@dataclass(frozen=True)
class _Facts:
    """What a plan is computed from, looked up once."""

    request: Request
    environ: Mapping[str, str]
    paths: Paths
    config: Config
    adapter: Provider
    homes: tuple[Path, ...]
    master: MasterStore
    place: Workspace
    toolchain: Toolchain
    instance: home.Instance
    private: tuple[Path, ...]


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
    installed = store.find(paths, environ)
    toolchain = installed or store.planned(paths, environ)
    roots = (Path(os.path.realpath(root)) for root in master.roots)
    instance = home.instance_of(paths, run_id)
    # What no run may see, whatever the user allows.
    private = (paths.state, paths.data, paths.config, paths.temp, *roots)
    facts = _Facts(
        request=request,
        environ=environ,
        paths=paths,
        config=config,
        adapter=adapter,
        homes=homes,
        master=master,
        private=private,
        place=_place(request, instance, homes, private),
        toolchain=toolchain,
        instance=instance,
    )
    missing = [] if installed else ["the toolchain"]
    programs = _programs(environ, missing)
    return _decide(facts, programs, tuple(missing))


def _place(
    request: Request, instance: home.Instance, homes: Iterable[Path], private: Iterable[Path]
) -> Workspace:
    """Find the workspace; who logs in needs none but the room itself."""
    if request.login is not None:
        return Workspace(instance.home, instance.home, (), (instance.home,))
    return workspace.find(request.directory, homes, private)


def _decide(facts: _Facts, programs: Mapping[str, Path], missing: tuple[str, ...]) -> Plan:
    adapter, instance, tools = facts.adapter, facts.instance, facts.toolchain.tools
    tool = tools[adapter.tool]
    endpoint = facts.request.endpoint
    room = Room(instance.home, facts.place, tool.version, tool.path, endpoint, _options(facts))
    needs = adapter.needs(room)
    login = facts.request.login
    rules = _policy(facts, (*needs.hosts, *(login.hosts if login else ())))
    wish = Wish(
        facts.request, adapter, facts.environ, facts.homes[0], facts.paths, facts.config
    )
    pinned = [tools["node"].path, tools["ripgrep"].path]
    host = Host(facts.toolchain, programs, sandbox_path(programs, pinned))
    sandbox = Srt(host)
    mode: Mode = "job" if facts.request.interactive and sys.platform == "linux" else "exec"
    return Plan(
        provider=adapter,
        room=room,
        instance=instance,
        toolchain=facts.toolchain,
        host=host,
        policy=rules,
        settings=sandbox.settings(rules),
        seeds=_seeds(facts, room),
        chosen=choice.choose(wish),
        wish=wish,
        inside=Inside(
            argv=tuple(adapter.command(room, facts.request.arguments)),
            environment=_environment(facts, adapter.environment(room)),
            unset=(*sandbox.own_variables, *needs.unset),
            workspace=facts.place.directory,
            unreadable=(instance.canary, *_telltales(facts, rules)),
            unwritable=(
                instance.runtime / "canary",
                facts.toolchain.root / f".canary-{instance.run_id}",
            ),
        ),
        command=sandbox.command(instance, mode),
        mode=mode,
        missing=missing,
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
    # A uid that the password file does not know has a HOME at most.
    with contextlib.suppress(KeyError):
        found.append(pwd.getpwuid(os.geteuid()).pw_dir)
    homes = tuple(dict.fromkeys(Path(os.path.realpath(path)) for path in found))
    if not homes or Path("/") in homes[:1]:
        raise StateError("HOME is not set to a directory of your own", "set HOME, then try again")
    return tuple(path for path in homes if path != Path("/"))


def _programs(environ: Mapping[str, str], missing: list[str]) -> dict[str, Path]:
    names = ("bwrap", "socat") if sys.platform == "linux" else ()
    programs: dict[str, Path] = {}
    for name in (*names, *CALLED):
        found = shutil.which(name, path=environ.get("PATH", os.defpath))
        if found is None:
            missing.append(name)
        programs[name] = Path(os.path.abspath(found or f"/usr/bin/{name}"))
    return programs


def _options(facts: _Facts) -> Options:
    words = " ".join(facts.request.arguments)
    return Options(
        full_credentials=facts.config.run.credentials == "full",
        bypass_permissions="bypassPermissions" in words
        or "--dangerously-skip-permissions" in words,
        attribution=facts.config.run.attribution,
    )


def _policy(facts: _Facts, hosts: tuple[str, ...]) -> Policy:
    place, instance = facts.place, facts.instance
    runtime_dir = facts.environ.get("XDG_RUNTIME_DIR", "")
    sockets = policy.existing([Path(runtime_dir)] if os.path.isabs(runtime_dir) else [])
    denied = (*facts.homes, *facts.private, *sockets, *_configured(facts, "deny"))
    own = (instance.home, instance.tmp, place.root, *place.git_directories)
    writable = policy.reduced((*own, *_configured(facts, "write")))
    readable = (
        instance.runtime,
        instance.control,
        facts.toolchain.root,
        *_configured(facts, "read"),
    )
    return Policy(
        deny_read=policy.reduced(denied),
        allow_read=(*writable, *policy.around(readable, writable)),
        allow_write=writable,
        deny_write=place.guarded(),
        hosts=tuple(dict.fromkeys((*hosts, *facts.config.network.allow))),
    )


def _configured(facts: _Facts, kind: Literal["read", "write", "deny"]) -> tuple[Path, ...]:
    """Resolve the user's own paths; what would open a secret place is refused."""
    entries: tuple[str, ...] = getattr(facts.config.files, kind)
    resolved = policy.existing(
        facts.homes[0] / entry[2:] if entry.startswith("~/") else Path(entry) for entry in entries
    )
    if kind == "deny":
        return resolved
    for path in resolved:
        for other in facts.private:
            if path.is_relative_to(other) or other.is_relative_to(path):
                raise ConfigError(
                    f"files.{kind}: {path} would open {other}, which no run may see",
                    "name narrower directories",
                )
    return resolved


def _environment(facts: _Facts, pinned: Mapping[str, str]) -> dict[str, str | Secret]:
    """Build the inner environment: allowed, then chosen by the user, then pinned."""
    ripgrep = str(facts.toolchain.tools["ripgrep"].path.parent)
    values: dict[str, str | Secret] = {**environment.allowed(facts.environ, [ripgrep])}
    for name in (*facts.config.environment.inherit, *facts.request.inherit):
        if not VARIABLE.fullmatch(name):
            raise UsageError(f"--env {name}: not a variable's name", "write --env NAME")
        if name in facts.environ:
            values[name] = Secret(facts.environ[name])
        elif name in facts.request.inherit:
            raise UsageError(f"--env {name}: there is no such variable", "export it first")
    values["HOME"] = str(facts.instance.home)
    values["TMPDIR"] = str(facts.instance.tmp)
    values[RUN_VARIABLE] = facts.instance.run_id
    return {**values, **pinned}


def _seeds(facts: _Facts, room: Room) -> tuple[SeedFile, ...]:
    """Order the files of a room: the user's preferences first, so that the pins win."""
    chosen = facts.config.seed
    names = tuple(dict.fromkeys((*chosen.include, *facts.request.seed)))
    user = facts.adapter.preferences(facts.environ, facts.homes[0], names, hooks=chosen.hooks)
    identity = git.identity(facts.environ)
    own = [SeedFile(".gitconfig", content=identity.encode())] if identity else []
    return (*user, *facts.adapter.seed(room), *own)


def _telltales(facts: _Facts, rules: Policy) -> list[Path]:
    """Name existing files with secrets that the policy keeps from the run."""
    listed = (user / name for user in facts.homes for name in _TELLTALE)
    found: list[Path] = []
    for path in (*facts.master.secrets, *listed):
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
