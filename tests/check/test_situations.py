"""Each broken situation is reported by the probe that should see it, and by no other."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from homeroom import provider
from homeroom.toolchain.store import TOOLCHAIN_VARIABLE, Toolchain
from tests.check.machine import (
    AGENT,
    Machine,
    assert_only,
    copied,
    found,
    patched,
    path_without,
    script,
    tool,
    which,
)


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
    return replace(machine, wrap=lambda command: [sys.executable, "-P", "-c", patch, *command[3:]])


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
