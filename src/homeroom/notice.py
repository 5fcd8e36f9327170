"""What is said on standard error before a run, because the user would wonder about it."""

import math
import os
import pwd
import shlex
import stat
import time
from collections.abc import Callable
from pathlib import Path

from homeroom.credential import vault
from homeroom.credential.secret import Credential, Secret
from homeroom.plan import Plan

_HOUR = 3600.0
# One file for each user who lingers (systemd-logind(8)).
_LINGERING = Path("/var/lib/systemd/linger")

Tell = Callable[[str], None]


def announce(decided: Plan, tell: Tell) -> None:
    """Say what a run does about its credential, where that may not be what was expected.

    Args:
        decided: The run.
        tell: Says a line to the user.
    """
    credential, request = decided.credential, decided.wish.request
    if request.login is not None:
        return
    if decided.room.endpoint is not None:
        tell("this is a demo: a model server on this machine answers, and no account is used")
    elif credential is None:
        tell(
            "no credential is used, so the room starts logged out and keeps nothing you enter; "
            f"run `homeroom login {decided.provider.name}`, or pass --api-key-env NAME"
        )
    if request.profile is not None and decided.chosen.origin in ("flag", "environment"):
        tell(f"{decided.chosen.source} comes first: profile {request.profile} is not used")
    _announce_ignored(decided, tell)
    if credential is None:
        return
    if decided.chosen.origin == "store":
        warn_if_exposed(credential, tell)
    if not decided.room.options.full_credentials:
        _announce_expiry(decided, credential, tell)


def _announce_ignored(decided: Plan, tell: Tell) -> None:
    """Say which of the variables that were to come along the room has in its own way."""
    wish = decided.wish
    for name in dict.fromkeys((*wish.config.environment.inherit, *wish.request.inherit)):
        # What is passed in is kept as a secret; what a room decides itself is not.
        if name in wish.environ and not isinstance(decided.inside.environment.get(name), Secret):
            tell(f"{name} is not passed in: a room has its own")


def warn_of_no_login(decided: Plan, run: str, tell: Tell) -> None:
    """Say when the agent of a run that nobody watches waits at its prompt, logged out.

    Its own login cannot be had in there: the hosts of that are not among the room's.

    Args:
        decided: The run.
        run: By what commands find it, quoted for a shell.
        tell: Says a line to the user.
    """
    if decided.credential is None:
        name = decided.provider.name
        tell(
            f"{name} is not logged in there and can do nothing yet: `homeroom stop {run}`, run "
            f"`{vault.command('login', name, vault.DEFAULT_PROFILE)}`, and start it again"
        )


def warn_of_logout(place: Path | None, tell: Tell) -> None:
    """Say when a run that outlives its terminal would lose its room at the last logout.

    systemd-logind(8) then removes ``/run/user/<uid>``, unless the user lingers.

    Args:
        place: The place in memory that the room is in, or None.
        tell: Says a line to the user.
    """
    if place is None or not place.is_relative_to("/run/user"):
        return
    try:
        lingers = _LINGERING.joinpath(pwd.getpwuid(os.geteuid()).pw_name).exists()
    except (KeyError, OSError):
        return
    if not lingers:
        tell(
            "warning: this run's room is in memory and goes when you log out for good; "
            "run `loginctl enable-linger` to keep it"
        )


def warn_if_exposed(credential: Credential, tell: Tell) -> None:
    """Say when the file that a credential is from can be read by others.

    Args:
        credential: From an agent's own store, so that its source is a file.
        tell: Says a line to the user.
    """
    path = Path(credential.source)
    try:
        mode = stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return
    if mode & 0o077:
        cure = f"chmod 600 {shlex.quote(str(path))}"
        tell(f"warning: others can read {path} (mode {mode:04o}); run `{cure}`")


def _announce_expiry(decided: Plan, credential: Credential, tell: Tell) -> None:
    """Say how long a room can work that has only an access token, if it is not long."""
    left = (credential.expires_at or math.inf) - time.time()
    if left > _HOUR:
        return
    cure = "start the agent once outside homeroom"
    if decided.chosen.profile is not None:
        name = decided.provider.name
        cure = f"run `{vault.command('login', name, decided.chosen.profile)}` again"
    if left <= 0:
        tell(
            f"the access token in {credential.source} has expired, and a room does not renew "
            f"it: {cure}"
        )
    else:
        tell(
            f"the access token works for {left / 60:.0f} more minutes, and a room does not "
            f"renew it: {cure} before that"
        )
