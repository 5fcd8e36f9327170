"""What is done about runs that died: their leftovers removed, their work kept."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from homeroom import adoption, archive, home, provider, worktree
from homeroom.errors import ConfigError, HomeroomError, StorageError
from homeroom.files import read_regular
from homeroom.paths import Paths
from homeroom.provider import Provider
from homeroom.run import sweep
from homeroom.run.record import Record

_LIMIT = 16 * 1024 * 1024

Tell = Callable[[str], None]


def sweep_dead(
    paths: Paths,
    *,
    dry_run: bool = False,
    places: adoption.Places | None = None,
    tell: Tell | None = None,
    only: str | None = None,
    fault: ConfigError | None = None,
) -> sweep.Report:
    """Remove what dead runs left, keeping their transcripts and the logins they renewed.

    Args:
        paths: homeroom's directories.
        dry_run: Whether to only say what would be done.
        places: Where the master stores are; None leaves those alone.
        tell: Says a line to the user.
        only: The one run to look at, whatever its age; None for all.
        fault: Why the configuration is not the user's. Then a room stays from which something
            would be kept by it: its agent is ended.

    Returns:
        What was done with each entry.
    """

    def keep(instance: home.Instance, of: Record) -> None:
        adapter = provider.get(of.provider)
        if fault is not None and (of.grant_from or adapter.transcripts(instance.home)):
            raise ConfigError(
                "its room stays: whether its transcript is kept, or its login taken back, stands "
                f"in what cannot be used: {fault.message}"
            )
        secrets = _secrets(adapter, instance)
        is_wanted = not of.trial and (places is None or places.config.run.archive != "never")
        if secrets is not None and is_wanted:
            found = adapter.transcripts(instance.home)
            archive.keep(found, instance.home, paths.transcripts / of.run_id, secrets)
        if places is not None and tell is not None:
            adoption.salvage(adapter, instance.home, of, places, tell)

    def close(of: Record) -> str | None:
        environ = os.environ if places is None else places.environ
        return _finish_worktree(of, environ)

    youngest = 0.0 if only else sweep.YOUNGEST
    report = sweep.sweep(
        paths, dry_run=dry_run, youngest=youngest, archive=keep, only=only, close=close
    )
    from homeroom.session import container

    # Afterwards: their processes have ended with the run's, whatever the engine says.
    report.entries.extend(container.sweep(paths, only=only, dry_run=dry_run))
    return report


def _secrets(adapter: Provider, instance: home.Instance) -> list[str] | None:
    """Collect what must be in no transcript; None when nobody can tell, so that none is kept."""
    left = adapter.collect(instance.home)
    found = list(left.values()) if left else []
    try:
        return found + [str(value) for value in json.loads(read_regular(instance.secrets, _LIMIT))]
    except FileNotFoundError:
        # It was not furnished yet, so no agent has written anything.
        return found
    except (StorageError, ValueError, TypeError):
        return None


def _finish_worktree(of: Record, environ: Mapping[str, str]) -> str | None:
    """Remove the worktree of a dead run when nothing would be lost; say where it is if not."""
    if of.worktree is None:
        return None
    try:
        tree = worktree.recover(Path(of.worktree), environ)
        return None if tree is None else worktree.finish(tree, environ, discard=False)
    except (HomeroomError, OSError) as error:
        return f"{of.worktree} was kept: {error}"
