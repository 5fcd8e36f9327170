"""A clock that somebody sets ends no run and keeps none."""

import time

import pytest

from homeroom.session.limits import Limits, Timer


@pytest.mark.parametrize("jump", [1e6, -1e6])
def test_idle_time_is_counted_by_a_clock_that_nobody_sets(
    monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    written, set_to, passed = time.time(), time.time(), time.monotonic()
    monkeypatch.setattr(time, "time", lambda: set_to)
    monkeypatch.setattr(time, "monotonic", lambda: passed)
    timer = Timer(Limits(max_idle=60, last_activity=lambda: written))
    assert not timer.is_over()
    set_to += jump
    passed += 59
    assert not timer.is_over()
    # It writes once more, at what seems another time: idle from now on.
    written = set_to
    assert not timer.is_over()
    passed += 59
    assert not timer.is_over()
    passed += 2
    assert timer.is_over()
