"""Which credential a run gets: one table, asked from the top."""

import functools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from homeroom import provider
from homeroom.config import Config
from homeroom.credential.index import StoreName
from homeroom.credential.secret import Credential, CredentialKind, Secret
from homeroom.credential.vault import (
    DEFAULT_PROFILE,
    Vault,
    check_profile,
    command,
    open_vault,
)
from homeroom.errors import ConfigError, CredentialError, HomeroomError, UsageError
from homeroom.paths import Paths
from homeroom.provider import Provider
from homeroom.request import Request

PROFILE_VARIABLE = "HOMEROOM_PROFILE"

Origin = Literal["flag", "demo", "environment", "profile", "vault", "store"]
State = Literal["used", "present", "absent", "unusable"]


class Wish(msgspec.Struct, frozen=True):
    """All that the choice depends on.

    Attributes:
        request: What the user asked for.
        provider: The adapter.
        environ: The caller's environment.
        user_home: The user's real home.
        paths: homeroom's directories.
        config: The user's configuration.
    """

    request: Request
    provider: Provider
    environ: Mapping[str, str]
    user_home: Path
    paths: Paths
    config: Config

    def __repr__(self) -> str:
        """Leave the environment out: there are secrets among its values."""
        return f"{type(self).__name__}(user_home={self.user_home!r}, paths={self.paths!r})"

    @property
    def vault(self) -> Vault:
        """The master store that homeroom keeps itself."""
        return open_vault(self.paths, self.config.vault.store)


class Summary(msgspec.Struct, frozen=True):
    """What can be told about a credential.

    Attributes:
        kind: None where it is decided that there shall be none.
        digest: Tells it from another one and gives nothing away.
        expires_at: When an access token stops working, in seconds since the epoch.
        store: Where the vault has it.
    """

    kind: CredentialKind | None = None
    digest: str | None = None
    expires_at: float | None = None
    store: StoreName | None = None


class Row(msgspec.Struct, frozen=True):
    """One line of the table.

    Attributes:
        origin: What sort of place.
        source: The place itself, for people.
        state: Whether it has a credential, and whether that is the one that is used.
        summary: What can be told about it, where there is one.
        problem: Why it is unusable: a start that gets as far as here fails.
    """

    origin: Origin
    source: str
    state: State
    summary: Summary | None = None
    problem: str | None = None


class Chosen(msgspec.Struct, frozen=True):
    """The outcome.

    Attributes:
        credential: What the run gets, or None for a room that starts logged out.
        origin: The sort of place that decided, or None where nothing was found.
        source: The place itself, for people.
        profile: Which of the vault's, where it is from there.
    """

    credential: Credential | None = None
    origin: Origin | None = None
    source: str = "no credential was found"
    profile: str | None = None


class _Place(msgspec.Struct, frozen=True):
    """A place in the table.

    Attributes:
        origin: What sort of place.
        source: The place itself, for people.
        peek: Tells what is there without asking for the secret; None when nothing is.
        take: Gives the credential; called only when ``peek`` found something.
        profile: Which of the vault's.
    """

    origin: Origin
    source: str
    peek: Callable[[], Summary | None]
    take: Callable[[], Credential | None]
    profile: str | None = None


def choose(wish: Wish) -> Chosen:
    """Go down the table to the first place that has a credential, and take it.

    Args:
        wish: What it depends on.

    Returns:
        The credential and where it is from.

    Raises:
        CredentialError: What decides is there and cannot be used; a later place never
            stands in for it.
        UsageError: The profile's name cannot be one.
    """
    for place in _table(wish):
        if place.peek() is not None:
            return Chosen(place.take(), place.origin, place.source, place.profile)
    return Chosen()


def rows(wish: Wish) -> tuple[Row, ...]:
    """Show the whole table. Asks no keyring: the vault's index is enough.

    Args:
        wish: What it depends on.

    Returns:
        Every place in order; at most one is used, none when an unusable one comes first.
    """
    found: list[Row] = []
    is_open = True
    for place in _table(wish):
        try:
            summary = place.peek()
        except HomeroomError as error:
            found.append(Row(place.origin, place.source, "unusable", None, error.message))
            is_open = False
            continue
        state: State = "absent" if summary is None else "used" if is_open else "present"
        found.append(Row(place.origin, place.source, state, summary))
        is_open = is_open and summary is None
    return tuple(found)


def named_agent(option: str | None, config: Config, file: Path) -> str:
    """Tell which agent the user named.

    Args:
        option: What was given on the command line.
        config: The user's configuration.
        file: Where that is from.

    Returns:
        The agent's name, or that of the default one.

    Raises:
        UsageError: The command line names one that there is not.
        ConfigError: The configuration does.
    """
    if option is not None or config.run.provider is None:
        return provider.get(option or provider.DEFAULT).name
    try:
        return provider.get(config.run.provider).name
    except UsageError as error:
        raise ConfigError(f"{file}: run.provider: {error.message}", error.hint) from error


def named_profile(
    option: str | None, environ: Mapping[str, str], config: Config
) -> tuple[str, str] | None:
    """Tell which profile the user named, and where.

    Args:
        option: What was given on the command line.
        environ: The caller's environment.
        config: The user's configuration.

    Returns:
        The name and the place it is from, or None.

    Raises:
        UsageError: That cannot be a profile's name.
    """
    named = (
        (option, "--profile"),
        (environ.get(PROFILE_VARIABLE) or None, PROFILE_VARIABLE),
        (config.run.profile, "run.profile"),
    )
    for name, source in named:
        if name is not None:
            return check_profile(name, source), source
    return None


def _table(wish: Wish) -> Iterator[_Place]:
    """THE precedence: what stands first decides."""
    yield from _flags(wish)
    # A real credential never goes to a server that is not the vendor's.
    if wish.request.endpoint is not None:
        demo = wish.provider.demo_credential
        yield _Place("demo", "the demo's own", _summed(demo), demo)
        return
    yield from _variables(wish)
    yield _named(wish)
    yield _vault(wish, DEFAULT_PROFILE)
    yield _store(wish)


def _flags(wish: Wish) -> Iterator[_Place]:
    none = None if wish.request.use_credentials else Summary()
    yield _Place("flag", "--no-credentials", lambda: none, lambda: None)
    name = wish.request.api_key_env

    def take() -> Credential | None:
        if name is None:
            return None
        value = wish.environ.get(name, "").strip()
        if not value:
            raise CredentialError(
                f"--api-key-env {name}: that variable is not set or empty",
                "export it, with the API key as its value",
            )
        return Credential("api-key", Secret(value), f"the variable {name}")

    yield _Place("flag", f"--api-key-env {name or 'NAME'}", _summed(take), take)


def variables(agent: str) -> dict[str, CredentialKind]:
    """Name the variables that hold a credential for an agent, the first one first."""
    stem = f"HOMEROOM_{agent.upper().replace('-', '_')}"
    return {f"{stem}_API_KEY": "api-key", f"{stem}_TOKEN": "token"}


def _variables(wish: Wish) -> Iterator[_Place]:
    for name, kind in variables(wish.provider.name).items():
        take = functools.partial(_variable, wish, name, kind)
        yield _Place("environment", name, _summed(take), take)


def _variable(wish: Wish, name: str, kind: CredentialKind) -> Credential | None:
    value = Secret(wish.environ.get(name, "").strip())
    if not value.reveal():
        return None
    reason = wish.provider.check_shape(kind, value)
    if reason is not None:
        raise CredentialError(f"{name}: {reason}", f"correct it, or unset {name}")
    return Credential(kind, value, f"the variable {name}")


def _named(wish: Wish) -> _Place:
    provider = wish.provider.name
    named = named_profile(wish.request.profile, wish.environ, wish.config)
    if named is None:
        source = f"--profile, {PROFILE_VARIABLE} or run.profile"
        return _Place("profile", source, lambda: None, lambda: None)
    name, source = named
    place = _vault(wish, name)

    def peek() -> Summary:
        found = place.peek()
        if found is None:
            raise CredentialError(
                f"there is no login of {provider} for the profile {name} ({source})",
                f"run `{command('login', provider, name)}`; "
                "`homeroom login --status` lists what there is",
            )
        return found

    return _Place("profile", f"profile {name} ({source})", peek, place.take, name)


def _vault(wish: Wish, profile: str) -> _Place:
    vault, provider = wish.vault, wish.provider.name

    def peek() -> Summary | None:
        entry = vault.find(provider, profile)
        if entry is None:
            return None
        return Summary(entry.kind, entry.digest, entry.expires_at, entry.store)

    return _Place(
        "vault",
        f"homeroom's vault, profile {profile}",
        peek,
        lambda: vault.get(provider, profile),
        profile,
    )


def _store(wish: Wish) -> _Place:
    roots = wish.provider.master_store(wish.environ, wish.user_home).roots

    @functools.cache
    def take() -> Credential | None:
        return wish.provider.discover(wish.environ, wish.user_home)

    return _Place(
        "store",
        f"{wish.provider.name}'s own login, in {roots[0] if roots else 'its store'}",
        _summed(take),
        take,
    )


def _summed(take: Callable[[], Credential | None]) -> Callable[[], Summary | None]:
    """Make a place's ``peek`` of its ``take``, where that asks nobody."""

    def peek() -> Summary | None:
        credential = take()
        if credential is None:
            return None
        return Summary(credential.kind, credential.secret.digest(), credential.expires_at)

    return peek
