"""Typing into a run's terminal, once somebody reads the keys there."""

import os
import termios
import time
from collections.abc import Callable

from homeroom.errors import TryAgainError
from homeroom.session.tmux import Tmux

# An agent that starts in a loaded machine, or in a container, needs its time.
_READY_LIMIT = 30.0
# At work it paints for ever, and takes keys all the same.
_REST_LIMIT = 3.0
_ARRIVAL_LIMIT = 10.0
_REST = 0.3
_POLL = 0.05
# So much of a text's end is looked for on the screen.
_TAIL = 16


def type_text(tmux: Tmux, run_id: str, text: str) -> None:
    """Type a text into a run, and Enter when it has arrived; Enter alone for no text.

    What is sent before an agent reads keys is lost in part: the Enter first of all.

    Args:
        tmux: homeroom's tmux server.
        run_id: The run.
        text: As it is, with several lines if need be.

    Raises:
        TryAgainError: Nobody reads keys there, or the text did not show. No Enter was pressed.
        StateError: There is no such session.
    """
    if not _until(lambda: _takes_keys(tmux, run_id), _READY_LIMIT):
        raise _refusal(run_id, f"its agent did not read keys within {_READY_LIMIT:.0f} seconds")
    before = _rest(tmux, run_id, _REST_LIMIT)
    if text:
        tmux.paste(run_id, text)
        # Blanks may show nowhere: they have the time that a screen needs to rest.
        limit = _ARRIVAL_LIMIT if _plain(text) else _REST
        is_seen = _until(lambda: _has_arrived(tmux, run_id, text, before), limit)
        if _plain(text) and not is_seen:
            raise _refusal(run_id, "what was typed does not show on its screen")
    tmux.send_keys(run_id, "Enter")


def _refusal(run_id: str, why: str) -> TryAgainError:
    return TryAgainError(
        f"the text was not taken: {why}",
        f"look at it with `homeroom attach {run_id[:12]}`",
    )


def _takes_keys(tmux: Tmux, run_id: str) -> bool:
    """Tell whether a terminal hands over single keys, as a full-screen program sets it."""
    tmux.require(run_id)
    terminal = tmux.terminal(run_id)
    try:
        descriptor = os.open(terminal, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not termios.tcgetattr(descriptor)[3] & termios.ICANON
    except termios.error:
        return False
    finally:
        os.close(descriptor)


def _rest(tmux: Tmux, run_id: str, limit: float) -> str:
    """Wait until a screen shows something and rests, but not for ever; give what it shows."""
    now = time.monotonic()
    deadline, since, shown = now + limit, now, tmux.screen(run_id)
    while (now := time.monotonic()) < deadline and (not shown.strip() or now - since < _REST):
        time.sleep(_POLL)
        found = tmux.screen(run_id)
        if found != shown:
            since, shown = time.monotonic(), found
    return shown


def _has_arrived(tmux: Tmux, run_id: str, text: str, before: str) -> bool:
    """Tell whether a screen shows a text's end, or in its place that something was pasted."""
    shown, tail = tmux.screen(run_id), _plain(text)[-_TAIL:]
    if tail and _plain(shown).count(tail) > _plain(before).count(tail):
        return True
    # A long one is shown as a mark, and only a look at the whole tells.
    return shown != before and _rest(tmux, run_id, _REST * 2) != before


def _plain(text: str) -> str:
    """Leave out what a screen adds or takes where a line is broken."""
    return "".join(text.split())


def _until(condition: Callable[[], bool], limit: float) -> bool:
    deadline = time.monotonic() + limit
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL)
    return True
