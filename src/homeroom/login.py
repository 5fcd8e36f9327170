"""Logging in and out: into homeroom's vault, and out of it again."""

from pathlib import Path

import msgspec

from homeroom import launch, notice, verification
from homeroom.adoption import Places
from homeroom.config import Config, Files, Run
from homeroom.credential.index import Entry
from homeroom.credential.secret import Credential, CredentialKind, Secret
from homeroom.errors import CredentialError
from homeroom.plan import Plan
from homeroom.provider import Provider
from homeroom.request import Request
from homeroom.session.signals import Signals
from homeroom.verification import NAMES


class Desk(msgspec.Struct, frozen=True):
    """Where a login is taken in.

    Attributes:
        provider: The adapter.
        profile: Which of the vault's logins it becomes.
        places: Where the master stores are.
        tell: Says a line to the user.
    """

    provider: Provider
    profile: str
    places: Places
    tell: launch.Tell

    def save(self, credential: Credential) -> Entry:
        """Keep a credential in the vault.

        Raises:
            HomeroomError: The vault cannot be written to.
        """
        return self.places.vault.put(self.provider.name, self.profile, credential)

    def make_ready(self) -> None:
        """Find out whether the vault can keep a login before anybody types one.

        Raises:
            CredentialError: The keyring is locked, hangs or fails.
        """
        vault = self.places.vault
        store, reason = vault.destination()
        if reason is not None:
            self.tell(
                f"warning: there is no keyring ({reason}); the login is kept in a file that "
                "only you can read, and that is not encrypted"
            )
        vault.wake(store, self.provider.name, self.profile)


def by_secret(desk: Desk, kind: CredentialKind, secret: Secret, *, offline: bool) -> Entry:
    """Log in with a key or a token that the user has.

    Args:
        desk: Where.
        kind: Which of the two.
        secret: It.
        offline: Whether the provider's server is not asked.

    Returns:
        The vault's new entry.

    Raises:
        CredentialError: It cannot be one, or the server refused it.
        TryAgainError: The server could not be asked.
        HomeroomError: The vault cannot be written to.
    """
    reason = desk.provider.check_shape(kind, secret)
    if reason is not None:
        raise CredentialError(f"that is no {NAMES[kind]} of {desk.provider.name}: {reason}")
    credential = Credential(kind, secret, "what you entered")
    if not offline:
        verification.ask(desk.provider, credential, desk.places.environ)
    return desk.save(credential)


def by_adoption(desk: Desk) -> Entry:
    """Log in with a copy of what is in the provider's own store, which stays as it is.

    Args:
        desk: Where.

    Returns:
        The vault's new entry.

    Raises:
        CredentialError: There is nothing, or it cannot be used.
        HomeroomError: The vault cannot be written to.
    """
    places, adapter = desk.places, desk.provider
    found = adapter.discover(places.environ, places.user_home)
    if found is None:
        roots = adapter.master_store(places.environ, places.user_home).roots
        raise CredentialError(
            f"there is no login of {adapter.name}'s own to adopt in {_listed(roots)}",
            f"log in with it, or run `homeroom login {adapter.name}`",
        )
    notice.warn_if_exposed(found, desk.tell)
    return desk.save(found)


def by_agent(desk: Desk, signals: Signals) -> Entry:
    """Log in with the agent's own login, in a room that has only that to do.

    The room is one as any run's, but with the login's hosts, no credential, no workspace,
    and none of the user's own permissions. It is wiped when the agent has ended.

    Args:
        desk: Where.
        signals: This process's signals, already collected.

    Returns:
        The vault's new entry.

    Raises:
        CredentialError: The agent ended without a login; nothing was saved.
        HomeroomError: The room could not be made, or the vault not be written to.
    """
    adapter, places = desk.provider, desk.places
    way = adapter.login_ways()[0]
    request = Request(
        adapter.name,
        arguments=way.arguments,
        use_credentials=False,
        interactive=True,
        login=way,
        # Nobody looks for it among the runs: what it was for is in the vault, or was given up.
        trial=True,
    )
    found: list[Credential] = []

    def collect(decided: Plan) -> None:
        credential = adapter.collect(decided.room.home)
        found.extend([credential] if credential else [])

    status = launch.start(
        request,
        places.environ,
        places.paths,
        _narrowed(places.config),
        signals,
        desk.tell,
        collect,
    )
    if status != 0 or not found:
        raise CredentialError(
            f"{adapter.name} ended without a login (exit status {status}); nothing was saved",
            "try again, or see the other ways in `homeroom login --help`",
        )
    return desk.save(found[0])


def _narrowed(config: Config) -> Config:
    """Leave of the configuration what a login needs: what the user denies, and patience."""
    own = config.run
    run = Run(archive="never", stop_grace=own.stop_grace, credentials_in=own.credentials_in)
    return Config(files=Files(deny=config.files.deny), run=run, vault=config.vault)


def _listed(roots: tuple[Path, ...]) -> str:
    return " or ".join(str(root) for root in roots)
