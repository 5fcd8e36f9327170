"""Taking back a grant that the agent renewed in a room that held all of it.

Only rooms with ``run.credentials = "full"`` do: elsewhere nothing in the room can renew it.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from homeroom.config import Config
from homeroom.credential.secret import Credential
from homeroom.credential.vault import Vault, command, open_vault
from homeroom.errors import CredentialError, HomeroomError
from homeroom.home import RUN_ID
from homeroom.paths import Paths
from homeroom.plan import Plan
from homeroom.provider import Provider
from homeroom.run import lock, record
from homeroom.run.record import Record

Tell = Callable[[str], None]


class LostError(CredentialError):
    """A renewed grant could be kept nowhere but in the room that it was renewed in."""


_STORE = "store"
_VAULT = "vault/"


class Places(msgspec.Struct, frozen=True):
    """Where master stores are looked for.

    Attributes:
        paths: homeroom's directories.
        config: The user's configuration.
        environ: The caller's environment.
        user_home: The user's real home.
    """

    paths: Paths
    config: Config
    environ: Mapping[str, str]
    user_home: Path

    def __repr__(self) -> str:
        """Leave the environment out: there are secrets among its values."""
        return f"{type(self).__name__}(user_home={self.user_home!r}, paths={self.paths!r})"

    @property
    def vault(self) -> Vault:
        """The master store that homeroom keeps itself."""
        return open_vault(self.paths, self.config.vault.store)


def marked(first: Record, decided: Plan) -> Record:
    """Say in the record of a run which grant its room holds, if it can be renewed there.

    Args:
        first: The record so far.
        decided: The run.
    """
    credential = decided.credential
    grant = credential.grant() if credential and decided.room.options.full_credentials else None
    if grant is None:
        return first
    profile = decided.chosen.profile
    origin = _STORE if profile is None else f"{_VAULT}{profile}"
    return msgspec.structs.replace(first, grant=grant, grant_from=origin)


def holders(paths: Paths, grant: str, run_id: str) -> list[str]:
    """List the other living runs whose rooms hold the same grant.

    Args:
        paths: homeroom's directories.
        grant: Its digest.
        run_id: The run that asks.
    """
    found: list[str] = []
    for path in sorted(paths.runs.glob("*.json")):
        other = path.name.removesuffix(".json")
        if other == run_id or not RUN_ID.fullmatch(other):
            continue
        try:
            # The lock first: most records are history, and need not be read.
            if lock.is_held(path.with_suffix(".lock")) and record.read(path).grant == grant:
                found.append(other)
        except (FileNotFoundError, HomeroomError):
            continue
    return found


def take_back(
    provider: Provider, home: Path, origin: str, run_id: str, places: Places, tell: Tell
) -> None:
    """Look at the credential in a room whose agent is gone, and keep a renewed grant.

    It goes back to where it came from, if it is newer than what is there and of the same
    account. An agent could write anything into its home: what is blanked, another
    account's or older is left where it is, and the user is told.

    Args:
        provider: The adapter.
        home: The instance home.
        origin: Where the grant is from, as the record has it.
        run_id: The run, whose name a rescued grant gets.
        places: Where the master stores are.
        tell: Says a line to the user.

    Raises:
        CredentialError: A renewed grant could not be written back. The old one may have
            stopped working; where the new one is now, the message says.
    """
    renewed = provider.collect(home)
    if renewed is None or not renewed.can_renew():
        tell(
            f"the agent logged out in its room, or its login was refused there; {_name(origin)} "
            "was not touched"
        )
        return
    try:
        is_written = _write_back(provider, origin, renewed, places)
    except (HomeroomError, OSError) as error:
        raise _rescue(provider, renewed, origin, run_id, places, error) from error
    if is_written:
        tell(f"the agent renewed its login; the new one is in {_name(origin)}")
    else:
        tell(
            f"the login in the room has changed, but is not a newer one of the same account; "
            f"{_name(origin)} was not touched"
        )


def salvage(provider: Provider, home: Path, of: Record, places: Places, tell: Tell) -> None:
    """Do the same for a run whose supervisor died, before a sweep takes its room.

    Args:
        provider: The adapter.
        home: The instance home.
        of: The run's record.
        places: Where the master stores are.
        tell: Says a line to the user.

    Raises:
        LostError: A renewed grant could be kept nowhere: the room should stay.
    """
    if of.grant_from is None:
        return
    left = provider.collect(home)
    if left is None or left.grant() in (None, of.grant):
        return
    try:
        take_back(provider, home, of.grant_from, of.run_id, places, tell)
    except LostError:
        raise
    except CredentialError as error:
        tell(f"{error.message} ({error.hint})")


def _write_back(provider: Provider, origin: str, renewed: Credential, places: Places) -> bool:
    vault = places.vault
    if origin == _STORE:
        # The lock is for other runs that end now; the CLI's own is not homeroom's to take.
        with vault.locked():
            return provider.restore(places.environ, places.user_home, renewed)
    return vault.renew(
        provider.name,
        origin.removeprefix(_VAULT),
        renewed,
        lambda current: renewed.supersedes(current, provider.account_key),
    )


def _rescue(
    provider: Provider,
    renewed: Credential,
    origin: str,
    run_id: str,
    places: Places,
    failure: Exception,
) -> CredentialError:
    """Keep what cannot go back: in a private file, which needs no keyring to be open."""
    reason = failure.message if isinstance(failure, HomeroomError) else _reason(failure)
    said = f"the agent renewed its login, which cannot be written to {_name(origin)}: {reason}"
    profile = f"rescued-{run_id.removeprefix('run_')[:8]}"
    try:
        open_vault(places.paths, "file").put(provider.name, profile, renewed)
    except HomeroomError as error:
        return LostError(
            f"{said}; nor could it be kept in homeroom's vault: {error.message}",
            f"the old login may have stopped working: run `homeroom login {provider.name}`",
        )
    return CredentialError(
        f"{said}; it is kept in homeroom's vault, in a file, as profile {profile}",
        f"the old login may have stopped working: start with --profile {profile}, or log in "
        f"again and run `{command('logout', provider.name, profile)}`",
    )


def _reason(failure: Exception) -> str:
    return str(getattr(failure, "strerror", None) or type(failure).__name__)


def _name(origin: str) -> str:
    if origin == _STORE:
        return "the agent's own login"
    return f"homeroom's vault, profile {origin.removeprefix(_VAULT)}"
