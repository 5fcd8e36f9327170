"""The last words of a run: whether its transcript is kept, and how to go on with it."""

from collections.abc import Callable

from homeroom import transcript, trash
from homeroom.config import Config
from homeroom.paths import Paths
from homeroom.plan import Plan
from homeroom.session import question
from homeroom.session.signals import Signals


def part(
    decided: Plan,
    paths: Paths,
    config: Config,
    signals: Signals,
    tell: Callable[[str], None],
    *,
    is_killed: bool,
) -> None:
    """Ask about what was kept, where somebody is there to be asked, and offer to resume it.

    At the very end: the room with its credential is gone while the question stands, and
    whatever happens meanwhile keeps the transcripts.

    Args:
        decided: The run, which is over.
        paths: homeroom's directories.
        config: The user's configuration.
        signals: This process's signals.
        tell: Says a line to the user.
        is_killed: Whether a signal ended the agent: then its screen is as it was, and no place
            for more.
    """
    asked, run_id = decided.wish.request, decided.instance.run_id
    kept = paths.transcripts / run_id
    if asked.unattended or asked.session != "foreground" or not kept.is_dir():
        return
    is_ask = config.run.archive == "ask" and question.can_ask()
    if is_ask and not question.yes("Keep this run's transcript?", signals):
        trash.discard(kept, paths.trash)
    elif (
        asked.interactive
        and not is_killed
        and transcript.is_begun(paths, decided.provider, decided.room.workspace.directory, run_id)
    ):
        # What the agent says about that is of a home that is gone.
        demo = " --demo" if asked.endpoint is not None else ""
        tell(f"to go on with this: homeroom start {asked.agent}{demo} --resume {run_id[:12]}")
