"""What is kept of a run: its transcripts, without secrets, and nothing from outside."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from homeroom.archive import keep
from homeroom.errors import HomeroomError, StateError
from homeroom.redact import MASK
from tests.core.kinds import NOT_A_FILE
from tests.support.tree import snapshot

SECRET = "a-known-secret-value"


@pytest.fixture
def room(tmp_path: Path) -> Path:
    directory = tmp_path / "room"
    (directory / "projects" / "one").mkdir(parents=True)
    return directory


@pytest.fixture
def destination(tmp_path: Path) -> Path:
    return tmp_path / "transcripts" / "run"


def write(path: Path, text: str = f'{{"said": "{SECRET}"}}\n') -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.usefixtures("open_umask")
def test_transcripts_are_kept_in_their_layout_private_and_redacted(
    room: Path, destination: Path
) -> None:
    first = write(room / "projects/one/a.jsonl")
    second = write(room / "projects/one/sub/b.jsonl", "nothing to hide\n")
    before = snapshot(room)
    kept = keep([first, second], room, destination, [SECRET])
    assert snapshot(room) == before
    assert kept == [destination / "projects/one/a.jsonl", destination / "projects/one/sub/b.jsonl"]
    assert kept[0].read_text() == f'{{"said": "{MASK}"}}\n'
    assert kept[1].read_text() == "nothing to hide\n"
    for entry in snapshot(destination.parent).values():
        assert entry.mode == (0o700 if entry.kind == "directory" else 0o600)


def test_secrets_of_a_known_shape_are_replaced_as_well(room: Path, destination: Path) -> None:
    token = "gh" + "p_" + "A1b2" * 9
    kept = keep([write(room / "a.jsonl", f"{token}\n")], room, destination, [])
    assert kept[0].read_text() == f"{MASK}\n"


def test_with_nothing_to_keep_nothing_is_made(room: Path, destination: Path) -> None:
    assert keep([], room, destination, [SECRET]) == []
    assert keep([room / "gone.jsonl"], room, destination, [SECRET]) == []
    assert not destination.parent.exists()


@pytest.mark.parametrize("kind", NOT_A_FILE)
def test_what_an_agent_put_in_a_transcripts_place_is_left_out(
    room: Path, destination: Path, kind: str
) -> None:
    good = write(room / "projects/one/good.jsonl")
    odd = room / "projects/two/odd.jsonl"
    odd.parent.mkdir()
    NOT_A_FILE[kind](odd)
    assert keep([odd, good], room, destination, []) == [destination / "projects/one/good.jsonl"]


@pytest.mark.parametrize(
    "plant",
    [
        lambda room, outside: (room / "projects/one/a.jsonl").symlink_to(outside / "a.jsonl"),
        lambda room, outside: (room / "projects/two").symlink_to(outside),
        lambda room, outside: (room / "projects/two").symlink_to(f"../../{outside.name}"),
    ],
    ids=["a file", "a directory", "a relative one"],
)
def test_nothing_from_outside_the_room_is_kept(
    room: Path, destination: Path, tmp_path: Path, plant: Callable[[Path, Path], object]
) -> None:
    outside = write(tmp_path / "outside/a.jsonl", "the user's own\n").parent
    plant(room, outside)
    planted = [room / "projects/one/a.jsonl", room / "projects/two/a.jsonl"]
    assert keep(planted, room, destination, []) == []


def test_a_symlink_to_the_rooms_own_tree_brings_a_transcript_to_its_place(
    room: Path, destination: Path
) -> None:
    write(room / "projects/one/a.jsonl", "said\n")
    (room / "projects/two").symlink_to("one")
    kept = keep([room / "projects/two/a.jsonl"], room, destination, [])
    assert kept == [destination / "projects/two/a.jsonl"]
    assert kept[0].read_text() == "said\n"


def test_a_name_of_any_length_and_bytes_is_kept(room: Path, destination: Path) -> None:
    names = ["x" * 249 + ".jsonl", os.fsdecode(b"\xff\n.jsonl"), "-rf.jsonl"]
    kept = keep([write(room / name) for name in names], room, destination, [])
    assert [path.name for path in kept] == names


def test_keeping_again_after_it_was_cut_short_keeps_the_whole(
    room: Path, destination: Path
) -> None:
    """A supervisor may be killed at this very moment; the sweep then does it once more."""
    sources = [write(room / name, f"{name}\n") for name in ("a.jsonl", "b.jsonl")]
    keep(sources[:1], room, destination, [])
    (destination / "a.jsonl").write_text("a.j")
    keep(sources, room, destination, [])
    assert (destination / "a.jsonl").read_text() == "a.jsonl\n"
    assert (destination / "b.jsonl").read_text() == "b.jsonl\n"
    assert (destination / "a.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_destination_that_is_a_symlink_is_refused(
    room: Path, destination: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    destination.parent.mkdir(mode=0o700)
    destination.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateError, match="is a symlink"):
        keep([write(room / "a.jsonl")], room, destination, [])
    assert os.listdir(tmp_path / "elsewhere") == []


def test_a_copy_that_is_a_symlink_is_replaced_and_not_followed(
    room: Path, destination: Path, tmp_path: Path
) -> None:
    target = write(tmp_path / "target", "mine\n")
    destination.mkdir(parents=True)
    for directory in (destination, destination.parent):
        directory.chmod(0o700)
    (destination / "a.jsonl").symlink_to(target)
    keep([write(room / "a.jsonl", "said\n")], room, destination, [])
    assert target.read_text() == "mine\n"
    assert (destination / "a.jsonl").read_text() == "said\n"


_FULL = """
import resource, signal, sys
from pathlib import Path
from homeroom.archive import keep
from homeroom.errors import HomeroomError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
room, destination = map(Path, sys.argv[1:])
try:
    keep([room / "a.jsonl"], room, destination, [])
except HomeroomError as error:
    assert "a.jsonl" in error.message and error.exit_code == 74, error.message
else:
    raise SystemExit("it was kept")
"""


def test_a_copy_that_cannot_be_finished_is_not_kept_in_part(room: Path, destination: Path) -> None:
    write(room / "a.jsonl", "x" * 100_000)
    arguments = [str(room), str(destination)]
    subprocess.run([sys.executable, "-c", _FULL, *arguments], check=True, timeout=30)
    assert os.listdir(destination) == []


def test_a_destination_that_cannot_be_made_is_named(room: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HomeroomError) as told:
        keep([write(room / "a.jsonl")], room, tmp_path / "file" / "run", [])
    assert str(tmp_path / "file") in told.value.message


def test_a_file_that_no_memory_holds_is_kept_as_far_as_it_has_lines(
    room: Path, destination: Path
) -> None:
    source = write(room / "a.jsonl", f"{SECRET} first\n")
    with source.open("r+b") as file:
        # A hole: nothing that the disk would hold, and a line without an end.
        file.truncate(200_000_000)
        file.seek(0, os.SEEK_END)
        file.write(f"\n{SECRET} last\n".encode())
    kept = keep([source], room, destination, [SECRET])
    assert kept[0].read_text() == f"{MASK} first\n{MASK}\n{MASK} last\n"


def test_a_secret_on_the_border_of_what_is_read_at_once_is_replaced(
    room: Path, destination: Path
) -> None:
    # Blocks of four megabytes: each of these lines crosses a border at another place.
    lines = "".join(f"{'x' * (4 * 1024 * 1024 - 10 * number)}{SECRET}\n" for number in range(1, 4))
    kept = keep([write(room / "a.jsonl", lines)], room, destination, [SECRET])
    assert kept[0].read_text() == lines.replace(SECRET, MASK)
