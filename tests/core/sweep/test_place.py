"""No run that is alive may look into a place that rooms begin to be kept in."""

import os
import threading
from pathlib import Path

import pytest

from homeroom.errors import StateError, TryAgainError
from homeroom.files import ensure_private_dir
from homeroom.home import new_run_id
from homeroom.paths import Paths
from homeroom.run import lock, place


@pytest.fixture
def spot(tmp_path: Path) -> Path:
    base = tmp_path / "run"
    base.mkdir(0o700)
    return base / "homeroom-0"


def locked(paths: Paths) -> tuple[str, lock.RunLock]:
    ensure_private_dir(paths.runs)
    run_id = new_run_id()
    taken = lock.try_acquire(paths.runs / f"{run_id}.lock")
    assert taken is not None
    return run_id, taken


def test_a_place_is_made_where_nobody_else_is_alive(paths: Paths, spot: Path) -> None:
    run_id, held = locked(paths)
    with held:
        place.begin(paths, spot, run_id)
    assert os.listdir(spot) == [".settled"]


def test_a_new_place_is_refused_while_another_run_is_alive(paths: Paths, spot: Path) -> None:
    other, held = locked(paths)
    with held:
        for _ in range(2):
            with pytest.raises(TryAgainError, match=other[:12]):
                place.begin(paths, spot, new_run_id())
            assert not spot.exists()
    place.begin(paths, spot, new_run_id())
    # Whoever starts from now on finds the place, and denies it.
    _, held = locked(paths)
    with held:
        place.begin(paths, spot, new_run_id())


def test_a_refused_run_opens_the_place_to_no_other_one(paths: Paths, spot: Path) -> None:
    """Though they begin at once, and each takes the place for made by the other."""
    _, held = locked(paths)
    results: list[str] = []

    def begin() -> None:
        run_id, own = locked(paths)
        with own:
            try:
                place.begin(paths, spot, run_id)
            except TryAgainError:
                results.append("refused")

    with held:
        threads = [threading.Thread(target=begin) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == ["refused"] * 4
    assert not spot.exists()


def test_a_place_that_is_open_to_others_is_refused(paths: Paths, spot: Path) -> None:
    spot.mkdir(0o700)
    spot.chmod(0o755)
    with pytest.raises(StateError, match="open to other users"):
        place.begin(paths, spot, new_run_id())
