"""Taking back a grant that the agent renewed in a room that held all of it.

Only rooms with ``run.credentials = "full"`` do: elsewhere nothing in the room can renew it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from homeroom.config import Config
from homeroom.credential.secret import Credential
from homeroom.credential.vault import Vault, open_vault
from homeroom.errors import CredentialError, HomeroomError, StateError
from homeroom.files import explain
from homeroom.home import RUN_ID
from homeroom.paths import Paths
from homeroom.plan import Plan
from homeroom.provider import Provider
from homeroom.run import lock, record

Tell = Callable[[str], None]
_STORE = "store"
_VAULT = "vault/"


@dataclass(frozen=True)
class Places:
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

    @property
    def vault(self) -> Vault:
        """homeroom's own master store."""
        return open_vault(self.paths, self.config.vault.store)


def marks(decided: Plan) -> dict[str, str | None]:
    """Give what the record of a run says about the grant that its room holds.

    Args:
        decided: The run.

    Returns:
        Fields of the record; both None in a room that can renew nothing.
    """
    credential = decided.credential
    grant = credential.grant() if credential and decided.room.options.full_credentials else None
    if grant is None:
        return {"grant": None, "grant_from": None}
    profile = decided.chosen.profile
    origin = _STORE if profile is None else f"{_VAULT}{profile}"
    return {"grant": grant, "grant_from": origin}


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
        # The lock first: most records are history, and need not be read.
        if not lock.is_held(path.with_suffix(".lock")):
            continue
        try:
            if record.read(path).grant == grant:
                found.append(other)
        except (FileNotFoundError, StateError):
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
        raise _rescued(provider, renewed, origin, run_id, places, error) from error
    if is_written:
        tell(f"the agent renewed its login; the new one is in {_name(origin)}")
    else:
        tell(
            f"the login in the room has changed, but is not a newer one of the same account; "
            f"{_name(origin)} was not touched"
        )


def _write_back(provider: Provider, origin: str, renewed: Credential, places: Places) -> bool:
    vault = places.vault
    if origin.startswith(_VAULT):
        return vault.renew(
            provider.name, origin.removeprefix(_VAULT), renewed, provider.is_renewal(renewed)
        )
    with vault.locked():
        return provider.restore(places.environ, places.user_home, renewed)
