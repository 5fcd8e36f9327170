"""A clock that somebody sets ends no run and keeps none."""

import time

import pytest

from homeroom.home import instance_of, new_run_id
from homeroom.session.foreground import Foreground, Limits
from homeroom.session.signals import Signals
from tests.life.scene import Scene


@pytest.mark.parametrize("jump", [1e6, -1e6])
def test_idle_time_is_counted_by_a_clock_that_nobody_sets(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    written, set_to, passed = time.time(), time.time(), time.monotonic()
    instance = instance_of(scene.paths, new_run_id())
    limits = Limits(max_idle=60, last_activity=lambda: written)
    session = Foreground(instance, Signals(), "job", 1.0, limits)
    monkeypatch.setattr(time, "time", lambda: set_to)
    monkeypatch.setattr(time, "monotonic", lambda: passed)
    begun = passed
    session._watch_limits(begun)
    set_to += jump
    passed += 59
    session._watch_limits(begun)
    assert not session._expired
    # It writes once more, at what seems another time: idle from now on.
    written = set_to
    session._watch_limits(begun)
    passed += 59
    session._watch_limits(begun)
    assert not session._expired
    passed += 2
    session._watch_limits(begun)
    assert session._expired
