"""Probes of the credentials that a start would use."""

import os
import stat
import time
from functools import partial

from homeroom import provider
from homeroom.check.model import Finding, Probe, Surroundings, fail, ok, skipped, warn

_HOUR = 3600.0


def _present(name: str, around: Surroundings) -> Finding:
    agent = provider.get(name)
    credential = agent.discover(around.environ, around.homes[0])
    if credential is None:
        return warn(
            "none in the agent's own store: rooms start logged out", f"homeroom login {name}"
        )
    seen = f"{credential.kind} from {credential.source}"
    if credential.expires_at is None:
        return ok(seen)
    left = credential.expires_at - time.time()
    if left <= 0:
        return warn(
            f"{seen}, whose access token has expired", f"start {name} once outside homeroom"
        )
    if left < _HOUR:
        return warn(f"{seen}, whose access token works for {left / 60:.0f} more minutes")
    return ok(f"{seen}, good for {left / _HOUR:.0f} more hours")


def _modes(name: str, around: Surroundings) -> Finding:
    store = provider.get(name).master_store(around.environ, around.homes[0])
    there = [path for path in store.secrets if path.is_file()]
    for path in there:
        mode = stat.S_IMODE(os.stat(path).st_mode)
        if mode & 0o077:
            return fail(f"{path} can be read by others (mode {mode:04o})", f"chmod 600 {path}")
    return ok(f"{len(there)} files, private") if there else skipped("the agent has no such file")


def probes() -> tuple[Probe, ...]:
    """Give the probes for every agent."""
    found: list[Probe] = []
    for name in provider.names():
        found += [
            Probe(
                f"credentials.{name}", f"There is a credential for {name}", partial(_present, name)
            ),
            Probe(
                f"credentials.{name}-modes", f"{name}'s files are private", partial(_modes, name)
            ),
        ]
    return tuple(found)
