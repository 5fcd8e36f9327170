"""All probes, in the order in which a person reads them."""

from collections.abc import Sequence

from homeroom.check import credentials, leaks, onboarding, sandbox, state, system, toolchain
from homeroom.check.model import Probe
from homeroom.errors import UsageError

# What each group asks, for people.
GROUPS = {
    "system": "Does the operating system bring what rooms need?",
    "toolchain": "Are the pinned tools what they should be?",
    "sandbox": "Does the sandbox keep what it promises?",
    "onboarding": "Does each agent start at its prompt?",
    "credentials": "Are the credentials there, and private?",
    "state": "Is what homeroom keeps in order?",
    "leaks": "What reaches into every room?",
}


def probes() -> tuple[Probe, ...]:
    """List every probe."""
    return (
        *system.PROBES,
        *toolchain.PROBES,
        *sandbox.probes(),
        *onboarding.PROBES,
        *credentials.probes(),
        *state.PROBES,
        *leaks.PROBES,
    )


def select(
    all_probes: Sequence[Probe], *, only: Sequence[str], skip: Sequence[str], quick: bool
) -> list[Probe]:
    """Choose probes by name or group.

    Args:
        all_probes: Every probe.
        only: Names or groups to keep; empty for all.
        skip: Names or groups to leave out.
        quick: Whether to keep the quick ones alone, unless named by ``only``.

    Returns:
        Those left, in order.

    Raises:
        UsageError: A word names no probe and no group.
    """
    for word in (*only, *skip):
        if not any(probe.is_called(word) for probe in all_probes):
            raise UsageError(f"there is no probe or group {word!r}", "homeroom check --list")
    return [
        probe
        for probe in all_probes
        if (any(probe.is_called(word) for word in only) if only else not quick or probe.is_quick)
        and not any(probe.is_called(word) for word in skip)
    ]
