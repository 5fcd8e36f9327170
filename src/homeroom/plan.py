"""Everything that ``start`` would do, computed without doing any of it."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from homeroom import (
    certificates,
    choice,
    environment,
    git,
    home,
    memory,
    planted,
    provider,
    proxy,
    rules,
    workspace,
)
from homeroom.choice import Chosen, Wish
from homeroom.config import VARIABLE, Config
from homeroom.credential.secret import Credential, Secret
from homeroom.errors import UsageError
from homeroom.paths import Paths
from homeroom.policy import Policy
from homeroom.process import RUN_VARIABLE
from homeroom.provider import Options, Provider, Room, SeedFile
from homeroom.request import Request
from homeroom.rules import Ground
from homeroom.sandbox import Command, Host, Inside, Mode
from homeroom.sandbox.srt import SHARED, Srt, find_programs, image_programs, sandbox_path
from homeroom.toolchain import store
from homeroom.toolchain.store import Toolchain
from homeroom.workspace import Workspace

if TYPE_CHECKING:
    from homeroom.session.housing import Housing

__all__ = ["Plan", "Request", "make"]


class Plan(msgspec.Struct, frozen=True):
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
        housing: The container that the room is put into, or None.
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
    missing: tuple[str, ...] = ()
    housing: "Housing | None" = None

    def secrets(self) -> list[str]:
        """List the values that must be in nothing that is kept of the run."""
        passed = self.inside.environment.values()
        values = (value.reveal() for value in passed if isinstance(value, Secret))
        return [*(self.credential.values() if self.credential else ()), *values]

    @property
    def credential(self) -> Credential | None:
        """What is injected, or None for a room that starts logged out."""
        return self.chosen.credential


class _Facts(msgspec.Struct, frozen=True):
    """What a plan is computed from, looked up once."""

    request: Request
    environ: Mapping[str, str]
    paths: Paths
    config: Config
    adapter: Provider
    ground: Ground
    place: Workspace
    toolchain: Toolchain
    instance: home.Instance


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
    ground = rules.survey(environ, paths)
    installed = store.find(paths, environ)
    toolchain = installed or store.planned(paths, environ)
    place = memory.require(paths, environ) if config.run.credentials_in == "memory" else None
    instance = home.instance_of(paths, run_id, place)
    facts = _Facts(
        request=request,
        environ=environ,
        paths=paths,
        config=config,
        adapter=adapter,
        ground=ground,
        place=_place(request, instance, ground),
        toolchain=toolchain,
        instance=instance,
    )
    programs, missing = (image_programs(), []) if request.container else find_programs(environ)
    return _decide(facts, programs, (*(() if installed else ("the toolchain",)), *missing))


def _place(request: Request, instance: home.Instance, ground: Ground) -> Workspace:
    """Find the workspace; who logs in needs none but the room itself."""
    if request.login is not None:
        return Workspace(instance.home, instance.home, (), (instance.home,))
    return workspace.find(
        request.directory, ground.homes, ground.private, also_obeyed=rules.obeyed_names()
    )


def _decide(facts: _Facts, programs: Mapping[str, Path], missing: tuple[str, ...]) -> Plan:
    adapter, instance, tools = facts.adapter, facts.instance, facts.toolchain.tools
    tool = tools[adapter.tool]
    endpoint = facts.request.endpoint
    room = Room(instance.home, facts.place, tool.version, tool.path, endpoint, _options(facts))
    needs = adapter.needs(room)
    login = facts.request.login
    decided = rules.decide(
        facts.ground,
        facts.place,
        instance,
        facts.toolchain.root,
        facts.config,
        facts.environ,
        hosts=(*needs.hosts, *(login.hosts if login else ())),
    )
    planted.refuse(programs.values(), facts.environ, decided)
    wish = Wish(
        facts.request, adapter, facts.environ, facts.ground.homes[0], facts.paths, facts.config
    )
    pinned = [tools["node"].path, tools["ripgrep"].path]
    # A demo stays on this machine, where no proxy and no other authority has a say.
    outward = facts.environ if endpoint is None else {}
    trusted = certificates.find(outward)
    path = sandbox_path(programs, pinned)
    host = Host(
        facts.toolchain,
        programs,
        path,
        proxy.find(outward),
        trusted,
        allow_untried=facts.request.allow_untried,
    )
    sandbox = Srt(host)
    mode: Mode = "job" if facts.request.interactive and sys.platform == "linux" else "exec"
    arguments, resumed = _arguments(facts, room)
    return Plan(
        provider=adapter,
        room=room,
        instance=instance,
        toolchain=facts.toolchain,
        host=host,
        policy=decided,
        settings=sandbox.settings(decided),
        seeds=(*_seeds(facts, room), *resumed),
        chosen=choice.choose(wish),
        wish=wish,
        inside=Inside(
            argv=tuple(adapter.command(room, arguments)),
            environment=_environment(facts, adapter.environment(room))
            | certificates.environment(trusted, instance.certificates),
            unset=(*sandbox.own_variables, *needs.unset),
            workspace=facts.place.directory,
            unreadable=(
                instance.canary,
                instance.settings,
                *rules.telltales(facts.ground, decided),
            ),
            unwritable=_unwritable(facts, decided),
        ),
        command=sandbox.command(instance, mode),
        mode=mode,
        missing=missing,
        housing=_housing(facts, decided, host) if facts.request.container else None,
    )


def _housing(facts: _Facts, decided: Policy, host: Host) -> "Housing":
    """Decide the container: what the policy opens, and what an administrator has ordered."""
    from homeroom.session import engine, housing

    machine = facts.adapter.surfaces().machine
    readable = (*decided.allow_read, *(Path(path) for path in machine if os.path.exists(path)))
    upstream = host.upstream
    above = [at.place for at in (upstream.http, upstream.https) if at] if upstream else []
    chosen = facts.config.container
    found = housing.Housing(
        engine.address(facts.environ),
        chosen.image,
        *housing.mounts(facts.instance, decided.allow_write, readable),
        housing.network((*decided.hosts, *above)),
        chosen.memory,
        chosen.processes,
    )
    housing.refuse_socket(found)
    return found


def _options(facts: _Facts) -> Options:
    words = " ".join(facts.request.arguments)
    return Options(
        full_credentials=facts.config.run.credentials == "full",
        bypass_permissions="bypassPermissions" in words
        or "--dangerously-skip-permissions" in words,
        attribution=facts.config.run.attribution,
    )


def _environment(facts: _Facts, pinned: Mapping[str, str]) -> dict[str, str | Secret]:
    """Build the inner environment: allowed, then chosen by the user, then pinned."""
    ripgrep = str(facts.toolchain.tools["ripgrep"].path.parent)
    # An image has its programs there, wherever this machine has its own.
    places = [ripgrep, "/usr/bin", "/bin"] if facts.request.container else [ripgrep]
    values: dict[str, str | Secret] = {**environment.allowed(facts.environ, places)}
    for name in (*facts.config.environment.inherit, *facts.request.inherit):
        if not VARIABLE.fullmatch(name):
            # What stands after "=" may be a secret.
            shown = f"--env {name.partition('=')[0]}"
            hint = "write --env NAME: the value is taken from your environment"
            raise UsageError(f"{shown}: not a variable's name", hint)
        if name in facts.environ:
            values[name] = Secret(facts.environ[name])
        elif name in facts.request.inherit:
            raise UsageError(f"--env {name}: there is no such variable", "export it first")
    if facts.request.container:
        values["SHELL"] = str(image_programs()["bash"])
    values["HOME"] = str(facts.instance.home)
    values["TMPDIR"] = str(facts.instance.tmp)
    values[RUN_VARIABLE] = facts.instance.run_id
    return {**values, **pinned}


def _arguments(facts: _Facts, room: Room) -> tuple[Sequence[str], tuple[SeedFile, ...]]:
    """Give the CLI's arguments, and what they need when a conversation goes on."""
    request = facts.request
    if request.resume is None:
        return request.arguments, ()
    seed, arguments = facts.adapter.resume(room, request.resume, request.arguments)
    return arguments, (seed,)


def _unwritable(facts: _Facts, decided: Policy) -> tuple[Path, ...]:
    """Name files that the run must not be able to make, where its user otherwise could."""
    name = f".canary-{facts.instance.run_id}"
    places = (Path("/tmp"), Path("/var/tmp"), SHARED)  # noqa: S108 - what is there is the point
    # A sandbox that lets everything be written may still hold the room's own parts shut.
    everybodys = (Path(os.path.realpath(path)) / name for path in places)
    return (
        facts.instance.runtime / "canary",
        facts.toolchain.root / name,
        *(path for path in everybodys if not decided.is_writable(path)),
    )


def _seeds(facts: _Facts, room: Room) -> tuple[SeedFile, ...]:
    """Order the files of a room: the user's preferences first, so that the pins win."""
    chosen = facts.config.seed
    names = tuple(dict.fromkeys((*chosen.include, *facts.request.seed)))
    user = facts.adapter.preferences(
        facts.environ, facts.ground.homes[0], names, hooks=chosen.hooks
    )
    identity = git.identity(facts.environ)
    own = [SeedFile(".gitconfig", content=identity.encode())] if identity else []
    return (*user, *facts.adapter.seed(room), *own)
