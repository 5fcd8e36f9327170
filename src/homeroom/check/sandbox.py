"""Probes of the sandbox: by trying it, under the very rules that ``start`` would use."""

import tempfile
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import msgspec

from homeroom import home, plan, provider
from homeroom.check.model import Finding, Probe, Surroundings, fail, ok, skipped
from homeroom.files import ensure_private_dir
from homeroom.home import Instance
from homeroom.policy import Policy
from homeroom.request import Request
from homeroom.sandbox import Host, Sandbox, behaviours
from homeroom.sandbox.behaviours import BEHAVIOURS, SECRETS, Behaviour, Bench
from homeroom.sandbox.srt import Srt
from homeroom.toolchain.system import locate_system_tools

_CURE = "see docs/how-to/sandbox-refused.md"
# Classes of secrets on a user's machine: the first file of each that exists is tried.
_SECRETS = {
    "read.ssh": (".ssh/id_ed25519", ".ssh/id_rsa", ".ssh/id_ecdsa", ".ssh/known_hosts"),
    "read.cloud-keys": (".aws/credentials", ".config/gcloud/credentials.db", ".kube/config"),
    "read.tokens": (".netrc", ".git-credentials", ".config/gh/hosts.yml", ".npmrc", ".pypirc"),
}
# Without it nothing else can be tried.
_FIRST = "command.starts"
# What must be right before a trial can say anything about the sandbox.
NEEDS = (
    "system.home",
    "system.tools",
    "system.user-namespaces",
    "system.disk",
    "system.filesystem",
    "system.network-settings",
    "toolchain.installed",
    "toolchain.hashes",
    "toolchain.runs",
    "state.configuration",
    "state.permissions",
)


class _Observation:
    """One observation for all probes of one ``check``, made by the first that asks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[int, Mapping[str, str] | Exception] = {}

    def of(self, around: Surroundings) -> Mapping[str, str]:
        with self._lock:
            if id(around) not in self._made:
                try:
                    self._made[id(around)] = _observe(around)
                except Exception as error:  # noqa: BLE001 - raised again for each that asks
                    self._made[id(around)] = error
            made = self._made[id(around)]
        if isinstance(made, Exception):
            raise made
        return made


def _observe(around: Surroundings) -> Mapping[str, str]:
    around.require_toolchain()
    locate_system_tools(around.environ)
    ensure_private_dir(around.paths.state)
    with tempfile.TemporaryDirectory(prefix="homeroom-check-", dir=_outside(around)) as name:
        scratch = Path(name)
        return behaviours.observe(bench(around, scratch), scratch)


def _outside(around: Surroundings) -> Path:
    """Find a place to work in that no rule is about: homeroom's own is, and so is a home."""
    return around.paths.temp.parent


def bench(around: Surroundings, scratch: Path, adapter: Callable[[Host], Sandbox] = Srt) -> Bench:
    """Make what the behaviours are tried with: the very rules that a start would have.

    Args:
        around: The machine; its toolchain must be installed.
        scratch: An empty directory outside of what the rules deny.
        adapter: Makes the sandbox.
    """
    # Trials hold no credential, and are on the disk whatever the configuration says.
    run = msgspec.structs.replace(around.config.run, credentials_in="disk")
    config = msgspec.structs.replace(around.config, run=run)

    def decide(instance: Instance, workspace: Path) -> plan.Plan:
        request = Request(provider.DEFAULT, directory=workspace, use_credentials=False)
        return plan.make(request, around.environ, around.paths, config, instance.run_id)

    def rules(instance: Instance, workspace: Path, hosts: tuple[str, ...]) -> Policy:
        return msgspec.structs.replace(decide(instance, workspace).policy, hosts=hosts)

    workspace = scratch / "planned"
    workspace.mkdir()
    decided = decide(home.instance_of(around.paths, home.new_run_id()), workspace)
    return Bench(
        sandbox=adapter(decided.host),
        paths=around.paths,
        node=decided.toolchain.tools["node"].path,
        rules=rules,
        secrets=_secrets(around),
        search_path=around.environ.get("PATH", "/usr/bin:/bin"),
    )


def _secrets(around: Surroundings) -> dict[str, Path]:
    candidates: dict[str, list[Path]] = {
        name: [user / file for user in around.homes for file in files]
        for name, files in _SECRETS.items()
    }
    candidates["read.master-store"] = [
        path
        for agent in provider.names()
        for path in provider.get(agent).master_store(around.environ, around.homes[0]).secrets
    ]
    candidates["read.vault"] = sorted((around.paths.state / "vault").rglob("*"))
    candidates["read.state"] = sorted(around.paths.runs.glob("run_*.json"))[:1]
    candidates["read.user-home"] = [path for user in around.homes for path in _listed(user)]
    found: dict[str, Path] = {}
    for name, paths in candidates.items():
        first = next((path for path in paths if _is_full(path)), None)
        if first is not None:
            found[name] = first
    return found


def _listed(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())[:200]
    except OSError:
        return []


def _is_full(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size > 0
    except OSError:
        return False


def _look(behaviour: Behaviour, observation: _Observation, around: Surroundings) -> Finding:
    if around.program("git") is None:
        return skipped("git is not installed, and the trial's workspace is a repository")
    seen = observation.of(around)
    if behaviour.name not in seen and seen["command.starts"] == "open":
        return skipped("there is no such file on this machine")
    difference = behaviours.difference(behaviour, seen)
    return fail(difference, _CURE) if difference else ok(f"{behaviour.expected}, as it must be")


def probes() -> tuple[Probe, ...]:
    """Give a probe for each behaviour; one call's probes share one observation."""
    observation = _Observation()
    first = f"sandbox.{_FIRST}"
    return tuple(
        Probe(
            f"sandbox.{behaviour.name}",
            behaviour.title,
            partial(_look, behaviour, observation),
            is_quick=False,
            limit=40.0,
            needs=NEEDS if behaviour.name == _FIRST else (first,),
        )
        for behaviour in (*BEHAVIOURS, *SECRETS)
    )
