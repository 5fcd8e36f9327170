"""Probes of the credentials that a start would use."""

import os
import shlex
import stat
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from homeroom import choice, home, provider, verification
from homeroom.check.model import Finding, Probe, Surroundings, fail, ok, skipped, warn
from homeroom.choice import Chosen, Wish
from homeroom.credential.vault import command, open_vault
from homeroom.errors import HomeroomError
from homeroom.request import Request
from homeroom.run import lock, record

_HOUR = 3600.0
_KEYRING = "credentials.keyring"
_INDEX = "credentials.index"
_UNDERSTOOD = ("state.configuration",)
_BASE = ("system.home", *_UNDERSTOOD, _INDEX, _KEYRING)


def _chosen(name: str, around: Surroundings) -> Chosen:
    agent = provider.get(name)
    wish = Wish(Request(name), agent, around.environ, around.homes[0], around.paths, around.config)
    return choice.choose(wish)


def _present(name: str, around: Surroundings) -> Finding:
    chosen = _chosen(name, around)
    if chosen.credential is None:
        return warn(
            f"no credential for {name} was found: its rooms start logged out",
            f"homeroom login {name}",
        )
    seen = f"{chosen.credential.kind} from {chosen.source}"
    return _lasting(seen, chosen.credential.expires_at, f"start {name} once outside homeroom")


def _lasting(seen: str, expires_at: float | None, cure: str) -> Finding:
    if expires_at is None:
        return ok(seen)
    left = expires_at - time.time()
    if left <= 0:
        return warn(f"{seen}, whose access token has expired", cure)
    if left < _HOUR:
        return warn(f"{seen}, whose access token works for {left / 60:.0f} more minutes", cure)
    return ok(f"{seen}, good for {left / _HOUR:.0f} more hours")


def _online(name: str, around: Surroundings) -> Finding:
    if not around.online:
        return skipped("it asks the provider's server, with --online alone")
    chosen = _chosen(name, around)
    if chosen.credential is None:
        return skipped("there is none")
    verification.ask(provider.get(name), chosen.credential, around.environ)
    return ok("the provider's server lets it through")


def _modes(name: str, around: Surroundings) -> Finding:
    there = list(_files(name, around))
    opened = [path for path in there if os.stat(path).st_mode & 0o077]
    if opened:
        mode = stat.S_IMODE(os.stat(opened[0]).st_mode)
        return fail(
            f"{opened[0]} can be read by others (mode {mode:04o})",
            f"chmod 600 {shlex.quote(str(opened[0]))}",
        )
    return ok(f"{len(there)} files, private") if there else skipped("there is no such file")


def _close(name: str, around: Surroundings) -> str:
    done: list[str] = []
    for path in _files(name, around):
        # Not through a link: what somebody else put there is not made his by us.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
            if mode & 0o077:
                os.fchmod(descriptor, mode & 0o700)
                done.append(str(path))
        finally:
            os.close(descriptor)
    return f"made private: {', '.join(done)}"


def _files(name: str, around: Surroundings) -> Iterator[Path]:
    own = provider.get(name).master_store(around.environ, around.homes[0]).secrets
    yield from (path for path in dict.fromkeys(own) if os.path.isfile(path))
    files = around.paths.state / "vault" / "files"
    yield from (path for path in sorted(files.rglob("*")) if path.is_file() and name in path.parts)


def _index(around: Surroundings) -> Finding:
    entries = open_vault(around.paths, around.config.vault.store).entries()
    return ok(f"{len(entries)} logins") if entries else skipped("the vault is empty")


def _keyring(around: Surroundings) -> Finding:
    """See whether the keyring answers, by a read: a locked or hanging one shows only then."""
    vault = open_vault(around.paths, around.config.vault.store)
    kept = [entry for entry in vault.entries() if entry.store == "keyring"]
    if around.config.vault.store == "file" and not kept:
        return skipped('vault.store is "file"')
    store, reason = vault.destination()
    if store == "keyring" or kept:
        agent, profile = kept[0].key if kept else (provider.DEFAULT, "homeroom-check")
        vault.wake("keyring", agent, profile)
        return ok(f"it answers, and keeps {len(kept)} of homeroom's logins")
    return ok(f"none, so that logins are kept in private files: {reason}")


def _vault(around: Surroundings) -> Finding:
    vault = open_vault(around.paths, around.config.vault.store)
    entries = vault.entries()
    for entry in entries:
        vault.get(*entry.key)
    for entry in entries:
        name = f"{entry.provider}, profile {entry.profile}"
        found = _lasting(name, entry.expires_at, command("login", *entry.key))
        if found.verdict != "ok":
            return found
    names = ", ".join(f"{entry.provider}/{entry.profile}" for entry in entries)
    return ok(f"{len(entries)} logins: {names}") if entries else skipped("the vault is empty")


def _refresher(around: Surroundings) -> Finding:
    """Look for two holders of one grant: who renews it first logs the other one out."""
    holders: dict[str, list[str]] = {}
    for grant, holder in (*_masters(around), *_rooms(around)):
        holders.setdefault(grant, []).append(holder)
    rooms = [names for names in holders.values() if sum(map(_is_room, names)) > 1]
    if rooms:
        names = ", ".join(rooms[0])
        return fail(f"one grant can be renewed by all of: {names}", "end all but one of the runs")
    masters = [names for names in holders.values() if not any(map(_is_room, names))]
    shared = next((names for names in masters if len(names) > 1), None)
    if shared:
        return warn(
            f"one grant is in {' and in '.join(shared)}: whoever renews it logs the other out",
            "log in once more for one of them: homeroom login",
        )
    return ok(f"{len(holders)} grants, none with two holders that could renew it")


def _masters(around: Surroundings) -> Iterator[tuple[str, str]]:
    vault = open_vault(around.paths, around.config.vault.store)
    for name in provider.names():
        own = provider.get(name).discover(around.environ, around.homes[0])
        if own is not None and (grant := own.grant()):
            yield grant, own.source
    for entry in vault.entries():
        kept = vault.get(*entry.key) if entry.kind == "oauth" else None
        if kept is not None and (grant := kept.grant()):
            yield grant, f"homeroom's vault ({entry.provider}/{entry.profile})"


def _rooms(around: Surroundings) -> Iterator[tuple[str, str]]:
    """Look into the living rooms themselves, not only at what their records say."""
    for path in sorted(around.paths.runs.glob("run_*.json")):
        if not home.RUN_ID.fullmatch(path.stem) or not lock.is_held(path.with_suffix(".lock")):
            continue
        try:
            agent = provider.get(record.read(path).provider)
        except (HomeroomError, FileNotFoundError):
            continue
        found = agent.collect(home.instance_of(around.paths, path.stem).home)
        if found is not None and (grant := found.grant()):
            yield grant, path.stem


def _is_room(holder: str) -> bool:
    return home.RUN_ID.fullmatch(holder) is not None


def probes() -> tuple[Probe, ...]:
    """Give the probes for every agent, and those of the vault."""
    found: list[Probe] = []
    for name in provider.names():
        chosen = f"credentials.{name}"
        found += [
            Probe(
                chosen, f"There is a credential for {name}", partial(_present, name), needs=_BASE
            ),
            Probe(
                f"credentials.{name}-modes",
                f"{name}'s credential files are private",
                partial(_modes, name),
                fix=partial(_close, name),
                needs=("system.home",),
            ),
            Probe(
                f"credentials.{name}-online",
                f"{name}'s provider takes the credential",
                partial(_online, name),
                is_quick=False,
                limit=30.0,
                needs=(chosen, "system.clock", *_BASE),
            ),
        ]
    return (
        Probe(_INDEX, "The list of the vault's logins can be read", _index, needs=_UNDERSTOOD),
        Probe(
            _KEYRING,
            "The keyring answers",
            _keyring,
            is_quick=False,
            limit=30.0,
            needs=(_INDEX, *_UNDERSTOOD),
        ),
        Probe("credentials.vault", "Every login in the vault can be read", _vault, needs=_BASE),
        *found,
        Probe(
            "credentials.refresher",
            "Each grant is renewed in one place alone",
            _refresher,
            needs=("credentials.vault", *(f"credentials.{name}" for name in provider.names())),
        ),
    )
