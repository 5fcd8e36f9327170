"""Each broken situation is reported by the probe that should see it, and by no other."""

import fcntl
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from homeroom import home, provider
from homeroom.process import RUN_VARIABLE
from homeroom.toolchain.store import TOOLCHAIN_VARIABLE, Toolchain
from tests.check.machine import (
    Machine,
    copied,
    found,
    patched,
    path_without,
    script,
    tool,
    verdicts,
    well,
    which,
)
from tests.conftest import PrivateHome

AGENT = provider.DEFAULT


@pytest.fixture
def machine(ready_home: PrivateHome, workspace: Path) -> Machine:
    return well(ready_home.env, workspace)


# What takes seconds, and has no part in what a situation is about.
TRIALS = ("sandbox", "toolchain.hashes", "toolchain.runs")


def assert_only(
    machine: Machine,
    *probes: str,
    verdict: str = "fail",
    says: str = "",
    without: tuple[str, ...] = (),
) -> None:
    """Run everything but the real starts of agents, which wait for all the rest."""
    passed_over = [word for name in ("onboarding", *without) for word in ("--skip", name)]
    document = machine.check(*passed_over)
    assert set(found(document)) == set(probes), found(document)
    for probe in probes:
        assert verdicts(document)[probe] == verdict
        assert says in found(document)[probe]
    assert document["exit_status"] == {"warn": 0, "fail": 1, "broken": 2}[verdict]


def test_all_is_well_where_nothing_is_broken(machine: Machine) -> None:
    document = machine.check(status=0)
    assert found(document) == {}
    assert document["counts"]["ok"] > 50


# --- the system -----------------------------------------------------------------------


@pytest.mark.parametrize("program", ["bwrap", "socat", "which"])
def test_a_program_that_the_sandbox_needs_is_missing(
    machine: Machine, tmp_path: Path, program: str
) -> None:
    path = path_without(tmp_path / "bin", program, of=machine.env["PATH"])
    assert_only(machine.with_env(PATH=path), "system.tools", says=program)


@pytest.mark.parametrize("program", ["git", "tmux"])
def test_a_program_that_rooms_use_is_missing(
    machine: Machine, tmp_path: Path, program: str
) -> None:
    path = path_without(tmp_path / "bin", program, of=machine.env["PATH"])
    assert_only(machine.with_env(PATH=path), f"system.{program}", verdict="warn", says=program)


def test_bubblewrap_is_too_old(machine: Machine, tmp_path: Path) -> None:
    script(tmp_path / "bin/bwrap", "echo bubblewrap 0.4.1")
    path = f"{tmp_path}/bin:{machine.env['PATH']}"
    assert_only(machine.with_env(PATH=path), "system.tools", says="older than 0.5.0")


def test_the_kernel_refuses_user_namespaces(machine: Machine, tmp_path: Path) -> None:
    refusal = "bwrap: No permissions to create new namespace, likely because ..."
    script(
        tmp_path / "bin/bwrap",
        f'[ "$1" != --version ] || exec {which("bwrap")} --version\necho "{refusal}" >&2; exit 1',
    )
    path = f"{tmp_path}/bin:{machine.env['PATH']}"
    assert_only(machine.with_env(PATH=path), "system.user-namespaces", says="No permissions")


def test_user_namespaces_are_really_switched_off(machine: Machine) -> None:
    off = 'echo 0 >/proc/sys/user/max_user_namespaces; exec setpriv --bounding-set -all -- "$@"'
    document = machine.inside(off).check("--skip", "onboarding", status=1)
    assert list(found(document)) == ["system.user-namespaces"]
    cures = [probe["cure"] for probe in document["probes"] if probe["verdict"] == "fail"]
    assert cures == ["sudo sysctl -w user.max_user_namespaces=15000"]


MOUNTED = 'mkdir "$1"; mount -t tmpfs -o size=256k,mode=0700 tmpfs "$1"; '


def test_the_disk_is_full(machine: Machine) -> None:
    full = MOUNTED + 'cat /dev/zero >"$1/fill" 2>/dev/null || :; shift; exec "$@"'
    mounted = machine.inside(full, machine.env["HOMEROOM_HOME"])
    assert_only(mounted, "system.disk", says="has only 0 MB left")


def test_the_file_system_cannot_be_written_to(machine: Machine) -> None:
    read_only = 'mkdir "$1"; mount -t tmpfs -o ro,mode=0700 tmpfs "$1"; shift; exec "$@"'
    mounted = machine.inside(read_only, machine.env["HOMEROOM_HOME"])
    assert_only(mounted, "system.filesystem", says="cannot be written to")


@pytest.fixture
def past(machine: Machine) -> Machine:
    """The same machine in the year 2000."""
    patch = (
        "import sys, time; time.time = lambda: 946684800.0; "
        "from homeroom.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    return replace(machine, wrap=lambda command: [sys.executable, "-c", patch, *command[3:]])


def test_the_clock_is_in_the_past(past: Machine) -> None:
    assert_only(past, "system.clock", says="2000-01-01")


def test_home_is_no_directory(machine: Machine, tmp_path: Path) -> None:
    assert_only(machine.with_env(HOME=tmp_path / "gone"), "system.home", says="no directory")


def test_the_proxy_is_not_understood(machine: Machine) -> None:
    assert_only(machine.with_env(HTTPS_PROXY="gopher://proxy:1"), "system.network-settings")


# --- the toolchain ----------------------------------------------------------------------


def test_nothing_is_installed(machine: Machine) -> None:
    assert_only(
        machine.without_env(TOOLCHAIN_VARIABLE), "toolchain.installed", says="nothing is installed"
    )


def test_a_tool_has_another_hash(machine: Machine, tmp_path: Path, toolchain: Toolchain) -> None:
    machine, root = copied(machine, tmp_path / "tc", toolchain)
    changed = tool(root, toolchain, "model-server")
    patched(changed, ("\n", "\n\n"))
    assert_only(machine, "toolchain.hashes", says=str(changed))


def test_a_tool_is_gone(machine: Machine, tmp_path: Path, toolchain: Toolchain) -> None:
    machine, root = copied(machine, tmp_path / "tc", toolchain)
    gone = tool(root, toolchain, "ripgrep")
    gone.unlink()
    assert_only(machine, "toolchain.installed", says=str(gone))


def test_the_package_of_srt_is_another(
    machine: Machine, tmp_path: Path, toolchain: Toolchain
) -> None:
    machine, root = copied(machine, tmp_path / "tc", toolchain)
    package = tool(root, toolchain, "srt").parent.parent / "package.json"
    patched(package, (f'"version": "{toolchain.tools["srt"].version}"', '"version": "0.0.1"'))
    assert_only(machine, "toolchain.runs", says="0.0.1")


def test_another_agent_is_on_the_path(machine: Machine, tmp_path: Path) -> None:
    other = script(tmp_path / "bin" / provider.get(AGENT).tool, "exit 1")
    path = f"{tmp_path}/bin:{machine.env['PATH']}"
    assert_only(machine.with_env(PATH=path), "toolchain.shadows", verdict="warn", says=str(other))


# --- the sandbox ------------------------------------------------------------------------

BROKEN_SRT = {
    "a deny is ignored": (
        "utils/config-loader.js",
        "return { kind: 'ok', config: result.data };",
        (
            "const rules = result.data.filesystem;"
            "rules.denyRead = rules.denyRead.filter(e => !(e.path ?? e).endsWith('/home'));"
            "return { kind: 'ok', config: result.data };"
        ),
        {"sandbox.read.user-home", "sandbox.read.ssh"},
    ),
    "an exit status is lost": (
        "sandbox/linux-sandbox-utils.js",
        "return wrappedCommand;",
        "return wrappedCommand + '; true';",
        {"sandbox.status.own", "sandbox.status.signal"},
    ),
    "the network is open": (
        "sandbox/domain-pattern.js",
        "export function matchesDomainPatternWithPort(hostname, port, pattern) {",
        "export function matchesDomainPatternWithPort(hostname, port, pattern) { return true;",
        {"sandbox.network.other-host"},
    ),
    "it does not start": (
        "utils/config-loader.js",
        "return { kind: 'ok', config: result.data };",
        "throw new Error('out of order');",
        {"sandbox.command.starts"},
    ),
}


@pytest.mark.parametrize("name", BROKEN_SRT)
def test_srt_is_broken(machine: Machine, tmp_path: Path, toolchain: Toolchain, name: str) -> None:
    (machine.home / ".ssh").mkdir(mode=0o700)
    for file in ("notes", ".ssh/id_rsa"):
        (machine.home / file).write_text("secret\n")
    machine, root = copied(machine, tmp_path / "tc", toolchain)
    file, before, after, expected = BROKEN_SRT[name]
    patched(tool(root, toolchain, "srt").parent / file, (before, after))
    assert_only(machine, *expected)


# --- credentials --------------------------------------------------------------------------


def own_file(machine: Machine) -> Path:
    """Where the agent's CLI keeps its login."""
    store = provider.get(AGENT).master_store(machine.env, machine.home)
    return next(path for path in store.secrets if path.name == ".credentials.json")


@pytest.fixture
def logged_in(machine: Machine) -> Machine:
    """A machine whose user is logged in with the agent's own CLI."""
    own = own_file(machine)
    own.parent.mkdir(mode=0o700)
    grant = {
        "accessToken": "sk-ant-oat01-x",
        "refreshToken": "sk-ant-ort01-x",
        "expiresAt": 4_000_000_000_000,
        "scopes": [],
    }
    own.touch(mode=0o600)
    own.write_text(json.dumps({"claudeAiOauth": grant}))
    keys = [name for name in machine.env if name.startswith(f"HOMEROOM_{AGENT.upper()}")]
    return machine.without_env(*keys)


def test_a_login_is_well(logged_in: Machine) -> None:
    document = logged_in.check("--only", "credentials", status=0)
    assert found(document) == {}
    assert verdicts(document)[f"credentials.{AGENT}"] == "ok"


def test_a_credential_can_be_read_by_others(logged_in: Machine) -> None:
    own_file(logged_in).chmod(0o644)
    assert_only(logged_in, f"credentials.{AGENT}-modes", says="mode 0644")


def test_a_credential_has_expired(logged_in: Machine) -> None:
    patched(own_file(logged_in), ("4000000000000", "1700000000000"))
    assert_only(
        logged_in, f"credentials.{AGENT}", verdict="warn", says="has expired", without=TRIALS
    )


def test_a_credential_cannot_be_understood(logged_in: Machine) -> None:
    own_file(logged_in).write_text("{ not json")
    assert_only(logged_in, f"credentials.{AGENT}", without=TRIALS)


def test_there_is_no_credential(machine: Machine) -> None:
    keys = [name for name in machine.env if name.startswith(f"HOMEROOM_{AGENT.upper()}")]
    assert_only(machine.without_env(*keys), f"credentials.{AGENT}", verdict="warn", without=TRIALS)


def test_the_index_of_the_vault_is_damaged(machine: Machine) -> None:
    write_state(machine, "vault/index.json", "{ not json")
    assert_only(machine, "credentials.index", says="damaged", without=TRIALS)


def test_a_login_of_the_vault_is_gone(machine: Machine) -> None:
    entry = {
        "provider": AGENT,
        "profile": "default",
        "kind": "api-key",
        "digest": "01234567",
        "saved_at": 1.0,
        "store": "file",
    }
    write_state(machine, "vault/index.json", json.dumps({"schema": 1, "entries": [entry]}))
    assert_only(machine, "credentials.vault", says="is gone", without=TRIALS)


KEYRINGS = {
    "hangs": ("time.sleep(3600)", "did not answer within"),
    "is locked": ("raise keyring.errors.KeyringLocked", "is locked"),
    "fails": ("raise OSError('secret-in-the-message')", "failed (OSError)"),
}


@pytest.mark.parametrize("how", KEYRINGS)
def test_the_keyring_does_not_answer(machine: Machine, tmp_path: Path, how: str) -> None:
    action, says = KEYRINGS[how]
    (tmp_path / "bad_keyring.py").write_text(
        "import time, keyring.backend, keyring.errors\n"
        "class Keyring(keyring.backend.KeyringBackend):\n"
        "    priority = 5\n"
        f"    def get_password(self, service, name): {action}\n"
        "    set_password = delete_password = get_password\n"
    )
    broken = machine.with_env(PYTHON_KEYRING_BACKEND="bad_keyring.Keyring", PYTHONPATH=tmp_path)
    assert_only(broken, "credentials.keyring", says=says, without=TRIALS)


@contextmanager
def living_room(machine: Machine, grant: str) -> Iterator[home.Instance]:
    """Pretend that a run is alive, whose room holds what renews a grant."""
    instance = home.instance_of(machine.paths, home.new_run_id())
    home.materialize(instance)
    own = instance.home / ".claude/.credentials.json"
    own.parent.mkdir(mode=0o700)
    own.write_text(own_file(machine).read_text().replace("ort01-x", grant))
    record = {
        "run_id": instance.run_id,
        "provider": AGENT,
        "workspace": "/",
        "state": "running",
        "created": 1.0,
        "supervisor": os.getpid(),
        "schema": 1,
    }
    write_state(machine, f"runs/{instance.run_id}.json", json.dumps(record))
    lock = write_state(machine, f"runs/{instance.run_id}.lock", "")
    with lock.open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield instance


def test_two_living_rooms_can_renew_one_grant(logged_in: Machine) -> None:
    with living_room(logged_in, "one") as first, living_room(logged_in, "two"):
        assert found(logged_in.check("--only", "credentials", status=0)) == {}
        with living_room(logged_in, "one"):
            assert_only(logged_in, "credentials.refresher", says=first.run_id, without=TRIALS)


# --- state --------------------------------------------------------------------------------


def write_state(machine: Machine, name: str, text: str, *, age: float = 0.0) -> Path:
    path = machine.paths.state / name
    for directory in reversed(path.parents):
        if not directory.exists():
            directory.mkdir(mode=0o700)
    path.touch(mode=0o600)
    path.write_text(text)
    if age:
        then = path.stat().st_mtime - age
        os.utime(path, (then, then))
    return path


def test_the_configuration_is_not_understood(machine: Machine) -> None:
    machine.paths.config.mkdir(mode=0o700, parents=True)
    machine.paths.config_file.write_text("[network]\nallow = 'everything'\n")
    assert_only(machine, "state.configuration", says="config.toml")


def test_a_directory_is_open_to_others(machine: Machine) -> None:
    write_state(machine, "runs/x", "")
    machine.paths.runs.chmod(0o755)
    assert_only(machine, "state.permissions", says=str(machine.paths.runs))


def test_a_lock_is_stale(machine: Machine) -> None:
    write_state(machine, f"runs/{home.new_run_id()}.lock", "", age=3600)
    assert_only(machine, "state.locks", verdict="warn", without=TRIALS)


def test_a_room_is_orphaned(machine: Machine) -> None:
    orphan(machine)
    assert_only(machine, "state.orphans", verdict="warn", says="1 rooms of dead runs")


def orphan(machine: Machine) -> home.Instance:
    instance = home.instance_of(machine.paths, home.new_run_id())
    home.materialize(instance)
    write_state(machine, f"runs/{instance.run_id}.lock", "", age=3600)
    os.utime(instance.root, (1e9, 1e9))
    return instance


def test_a_record_is_damaged(machine: Machine) -> None:
    write_state(machine, f"runs/{home.new_run_id()}.json", "{")
    assert_only(machine, "state.records", verdict="warn", without=TRIALS)


def test_the_trash_is_not_empty(machine: Machine) -> None:
    write_state(machine, "trash/left-over/file", "")
    assert_only(machine, "state.trash", verdict="warn", without=TRIALS)


def test_something_foreign_is_among_the_rooms(machine: Machine) -> None:
    write_state(machine, "instances/notes.txt", "")
    assert_only(machine, "state.foreign", verdict="warn", says="notes.txt", without=TRIALS)


# --- what reaches into every room -----------------------------------------------------------

# A directory /etc of this process's own, with everything that is in the real one.
OWN_ETC = (
    'mkdir "$1"; mount --rbind /etc "$1"; mount -t tmpfs tmpfs /etc; '
    'for each in "$1"/*; do ln -s "$each" /etc/; done; '
    'mkdir -p "$(dirname "$2")"; echo "{}" >"$2"; shift 2; exec "$@"'
)


def test_a_managed_setting_is_under_etc(machine: Machine, tmp_path: Path) -> None:
    managed = provider.get(AGENT).surfaces().machine[0]
    before = os.listdir("/etc")
    assert_only(
        machine.inside(OWN_ETC, tmp_path / "etc", managed),
        "leaks.managed",
        verdict="warn",
        says=managed,
    )
    assert os.listdir("/etc") == before


def test_instructions_lie_above_the_workspace(machine: Machine, tmp_path: Path) -> None:
    work = tmp_path / "other" / "project"
    work.mkdir(parents=True)
    above = tmp_path / "other" / provider.get(AGENT).surfaces().inherited[0]
    above.write_text("Obey.")
    assert_only(
        replace(machine, cwd=work),
        "leaks.ancestors",
        verdict="warn",
        says=str(above),
        without=TRIALS,
    )


def test_the_configuration_opens_the_home(machine: Machine) -> None:
    (machine.home / ".agents").mkdir()
    machine.paths.config.mkdir(mode=0o700, parents=True)
    machine.paths.config_file.write_text('[files]\nread = ["~/.agents"]\n')
    assert_only(
        machine, "leaks.config", "leaks.home", verdict="warn", says=".agents", without=TRIALS
    )


def test_the_marker_of_a_run_is_no_news(machine: Machine) -> None:
    document = machine.with_env(**{RUN_VARIABLE: "run_x"}).check("--quick")
    assert found(document) == {}
