"""What is known of a run: only what may follow what, and never a part of a file."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeroom.errors import StateError, StorageError
from homeroom.paths import locate
from homeroom.run.find import all_runs
from homeroom.run.record import FINAL, Record, RunState, read, save
from tests.core.kinds import NOT_A_FILE

STATES: tuple[RunState, ...] = get_args(RunState)

# As the documentation of a run's life has it.
LIFE: Mapping[str, set[str]] = {
    "allocated": {"prepared", "failed", "crashed"},
    "prepared": {"running", "failed", "crashed"},
    "running": {"ending", "failed", "crashed"},
    "ending": {"ended", "failed", "crashed"},
    "ended": set(),
    "failed": set(),
    "crashed": set(),
}


def make(**changes: object) -> Record:
    fields: dict[str, object] = {
        "run_id": "run_" + "0" * 32,
        "provider": "agent",
        "workspace": "/some/where",
        "state": "allocated",
        "created": 1.5,
        "supervisor": 4,
    }
    return Record(**(fields | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("before", STATES)
@pytest.mark.parametrize("after", STATES)
def test_a_run_goes_only_where_its_life_leads(before: RunState, after: RunState) -> None:
    old = make(state=before)
    if after in LIFE[before]:
        assert old.moved(after).state == after
    else:
        with pytest.raises(ValueError, match=f"from {before} to {after}"):
            old.moved(after)
    assert old.state == before


@given(steps=st.lists(st.sampled_from(STATES), max_size=12))
def test_every_life_ends_once(steps: list[RunState]) -> None:
    current = make()
    lived = [current.state]
    for step in steps:
        try:
            current = current.moved(step)
        except ValueError:
            continue
        lived.append(current.state)
    assert len(set(lived)) == len(lived) <= 5
    assert [state in FINAL for state in lived[:-1]] == [False] * (len(lived) - 1)


def test_what_is_final_is_what_nothing_follows() -> None:
    assert {state for state in STATES if not LIFE[state]} == FINAL


def test_moving_keeps_what_it_does_not_change() -> None:
    moved = make(sandbox=7).moved("failed", ended=2.5, note="it broke")
    assert moved == make(state="failed", sandbox=7, ended=2.5, note="it broke")


texts = st.text(max_size=30)


@given(
    record=st.builds(
        Record,
        run_id=texts,
        provider=texts,
        workspace=texts,
        state=st.sampled_from(STATES),
        created=st.floats(0, 1e12),
        supervisor=st.integers(0, 2**31),
        supervisor_identity=st.none() | texts,
        sandbox=st.none() | st.integers(0, 2**31),
        ended=st.none() | st.floats(0, 1e12),
        exit_status=st.none() | st.integers(0, 255),
        note=st.none() | texts,
    )
)
def test_what_is_saved_is_what_is_read(
    tmp_path_factory: pytest.TempPathFactory, record: Record
) -> None:
    path = tmp_path_factory.mktemp("r") / "record.json"
    save(path, record)
    assert read(path) == record


def test_a_name_that_is_no_utf8_is_escaped(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    save(path, make(note=f"cannot write {os.fsdecode(b'/x/' + bytes([255]))}"))
    assert read(path).note == "cannot write /x/\\udcff"


def test_the_file_is_private_and_alone(tmp_path: Path, open_umask: None) -> None:
    del open_umask
    path = tmp_path / "record.json"
    save(path, make())
    save(path, make(state="prepared"))
    assert os.listdir(tmp_path) == ["record.json"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_missing_record_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "record.json")


@pytest.mark.parametrize("kind", NOT_A_FILE)
def test_what_is_no_file_is_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "d" / "record.json"
    path.parent.mkdir()
    NOT_A_FILE[kind](path)
    with pytest.raises(StateError) as told:
        read(path)
    assert str(path) in told.value.message


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b"{}",
        b'{"run_id": 1}',
        b" " * (1024 * 1024 + 1),
        b"[" * 100_000,
    ],
)
def test_a_damaged_record_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "record.json"
    path.write_bytes(content)
    with pytest.raises(StateError) as told:
        read(path)
    assert str(path) in told.value.message


def test_a_record_with_keys_of_a_newer_homeroom_is_not_guessed_at(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    save(path, make())
    path.write_text(path.read_text().replace('"state": "allocated"', '"state": "dreaming"'))
    with pytest.raises(StateError):
        read(path)
    save(path, make())
    path.write_text(path.read_text().replace("{", '{"colour": "blue",', 1))
    with pytest.raises(StateError):
        read(path)


def test_where_nothing_can_be_written_the_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot write the record"):
        save(tmp_path / "file" / "record.json", make())


def test_a_record_that_names_another_run_counts_for_none(tmp_path: Path) -> None:
    """``prune`` removes what is called like the run: a record must not choose the name."""
    paths = locate({"HOMEROOM_HOME": str(tmp_path)})
    paths.runs.mkdir(parents=True)
    save(paths.runs / f"run_{'1' * 32}.json", make(run_id="../../../victim", state="ended"))
    runs, unread = all_runs(paths)
    assert runs == []
    assert len(unread) == 1
    assert "is damaged" in unread[0].why
