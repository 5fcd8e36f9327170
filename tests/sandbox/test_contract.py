"""The real srt keeps the sandbox's contract, and the contract sees what a broken one breaks."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from homeroom.home import Instance
from homeroom.policy import Policy
from homeroom.sandbox import Command, Inside, Mode, behaviours
from homeroom.sandbox.behaviours import Bench
from homeroom.sandbox.srt import Srt
from homeroom.testing import SandboxContract, sample_bench
from homeroom.testing.sandbox import EVERY_BEHAVIOUR, violated
from homeroom.toolchain.store import TOOLCHAIN_VARIABLE, Toolchain


class TestSrt(SandboxContract):
    def bench(self, root: Path) -> Bench:
        return sample_bench(root, Path(os.environ[TOOLCHAIN_VARIABLE]))


class DenyIgnored(Srt):
    """Does not keep the run out of the user's home."""

    def prepare(self, instance: Instance, policy: Policy, inside: Inside) -> None:
        kept = tuple(path for path in policy.deny_read if path.name != "home")
        assert kept != policy.deny_read
        super().prepare(instance, replace(policy, deny_read=kept), inside)


class NetworkOpen(Srt):
    """Lets every port of this machine through its proxy."""

    def prepare(self, instance: Instance, policy: Policy, inside: Inside) -> None:
        super().prepare(instance, replace(policy, hosts=(*policy.hosts, "127.0.0.1")), inside)


class StatusLost(Srt):
    """Ends with 0 whatever the command ended with."""

    def command(self, instance: Instance, mode: Mode) -> Command:
        command = super().command(instance, mode)
        return replace(command, argv=("/bin/sh", "-c", '"$@"; exit 0', "sh", *command.argv))


class ProcessesLeft(Srt):
    """Leaves a process outside, which carries the run's id."""

    def command(self, instance: Instance, mode: Mode) -> Command:
        command = super().command(instance, mode)
        leave = '(setsid sleep 60 </dev/null >/dev/null 2>&1 &); exec "$@"'
        return replace(command, argv=("/bin/sh", "-c", leave, "sh", *command.argv))


class ProofSkipped(Srt):
    """Starts the command though the prelude could read what it must not."""

    def prepare(self, instance: Instance, policy: Policy, inside: Inside) -> None:
        super().prepare(instance, policy, inside)
        prelude = instance.runtime / "prelude.sh"
        proof = 'refuse "it can read $hr_path"'
        text = prelude.read_text()
        assert proof in text
        prelude.write_text(text.replace(proof, ":"))


class NothingStarts(Srt):
    """Is not there."""

    def command(self, instance: Instance, mode: Mode) -> Command:
        return replace(super().command(instance, mode), argv=("/bin/false",))


BROKEN: Mapping[type[Srt], set[str]] = {
    DenyIgnored: {
        "read.user-home",
        "read.ssh",
        "read.cloud-keys",
        "read.tokens",
        "read.master-store",
    },
    NetworkOpen: {"network.other-host"},
    StatusLost: {"status.own", "status.signal"},
    ProcessesLeft: {"leftovers.processes"},
    ProofSkipped: {"proof.refuses"},
    NothingStarts: {"command.starts", "status.own", "status.signal", "proof.refuses"},
}


@pytest.mark.parametrize("adapter", BROKEN, ids=lambda adapter: adapter.__name__)
def test_a_broken_sandbox_violates_exactly_what_it_breaks(
    adapter: type[Srt], tmp_path: Path, toolchain: Toolchain
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    seen = behaviours.observe(sample_bench(tmp_path, toolchain.root, adapter), scratch)
    assert violated(seen) == BROKEN[adapter], seen
    if adapter is not NothingStarts:
        assert seen.keys() == {behaviour.name for behaviour in EVERY_BEHAVIOUR}


class Seen(SandboxContract):
    """A sandbox of which something was seen, without one."""

    def __init__(self, **seen: str) -> None:
        held = {behaviour.name: behaviour.expected for behaviour in EVERY_BEHAVIOUR}
        self.seen = held | {name.replace("__", "."): seen[name] for name in seen}

    def bench(self, root: Path) -> Bench:
        raise NotImplementedError

    def observed(self, root: Callable[[], Path]) -> Mapping[str, str]:
        del root
        return self.seen


class SaidToBeOpen(Seen):
    violates = ("read.canary",)


def run_test(contract: SandboxContract, name: str) -> None:
    getattr(contract, f"test_{name}")(None)


def test_each_behaviour_is_a_test() -> None:
    tests = [name for name in dir(SandboxContract) if name.startswith("test_")]
    assert len(tests) == len(EVERY_BEHAVIOUR)
    for name in tests:
        run_test(Seen(), name.removeprefix("test_"))


def test_what_does_not_hold_fails_its_test_alone() -> None:
    broken = Seen(read__canary="open")
    with pytest.raises(AssertionError, match="The canary cannot be read: open, not refused"):
        run_test(broken, "read_canary")
    run_test(broken, "read_other_room")


def test_what_was_not_tried_fails() -> None:
    untried = Seen()
    untried.seen = {"command.starts": "status 1"}
    with pytest.raises(AssertionError, match="not tried"):
        run_test(untried, "git_commit")


def test_what_is_said_to_be_violated_must_be() -> None:
    run_test(SaidToBeOpen(read__canary="open"), "read_canary")
    with pytest.raises(AssertionError, match="it holds, against what is said"):
        run_test(SaidToBeOpen(), "read_canary")
