"""What was said in a run: read while it lives and afterwards, exported, resumed, forgotten."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from homeroom import home, transcript
from homeroom.cli import transcript_view
from homeroom.errors import StorageError
from homeroom.paths import locate
from homeroom.provider import Message
from homeroom.run.find import Found
from homeroom.run.record import Record
from tests.conftest import PrivateHome
from tests.life.conftest import ANSWER, Life

EVIL = "<script>alert('x')</script> & ``` ````\n# not a heading"


def test_following_reads_only_what_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long.jsonl"
    path.write_bytes(b"x" * 99 + b"\n" + b"line\n" * 100_000)
    read: list[int] = []
    real = os.fdopen

    class Counted:
        def __init__(self, descriptor: int) -> None:
            self.file = real(descriptor, "rb", buffering=0)

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def read(self, size: int) -> bytes:
            chunk = self.file.read(size)
            read.append(len(chunk))
            return chunk

    monkeypatch.setattr(os, "fdopen", lambda descriptor, *_, **__: Counted(descriptor))
    added = iter([b"one\ntw", b"o\n", b""])

    def more() -> bool:
        new = next(added)
        with path.open("ab") as file:
            file.write(new)
        return bool(new)

    found = list(transcript.lines(path, more=more))
    assert found[-2:] == [b"one", b"two"]
    assert sum(read) == path.stat().st_size


def test_what_is_written_before_the_end_is_read(tmp_path: Path) -> None:
    """Though it comes between the last look at the file and the one at the lock."""
    path = tmp_path / "some.jsonl"
    path.write_text("first\n")

    def more() -> bool:
        with path.open("a") as file:
            file.write("last\n")
        return False

    assert list(transcript.lines(path, more=more)) == [b"first", b"last"]


@pytest.mark.parametrize("place", ["file", "directory"])
def test_a_symlink_out_of_the_room_is_not_followed(private_home: PrivateHome, place: str) -> None:
    paths = locate(private_home.env)
    run_id = f"run_{'a' * 32}"
    room = home.instance_of(paths, run_id).home
    projects = room / ".claude" / "projects"
    outside = private_home.home / "outside"
    outside.mkdir()
    secret = outside / "5b3a8f5e-0000-4000-8000-000000000000.jsonl"
    secret.write_text("{}\n")
    if place == "file":
        (projects / "-project").mkdir(parents=True)
        (projects / "-project" / secret.name).symlink_to(secret)
    else:
        projects.mkdir(parents=True)
        (projects / "-project").symlink_to(outside)
    record = Record(
        run_id=run_id,
        provider="claude",
        workspace="/project",
        state="running",
        created=1.0,
        supervisor=1,
    )
    with pytest.raises(Exception, match=r"outside of its room|no transcript"):
        transcript.locate(paths, Found(record, is_alive=True))
    link = private_home.home / "link.jsonl"
    link.symlink_to(secret)
    with pytest.raises(StorageError, match="cannot read"):
        list(transcript.lines(link, more=lambda: False))


def spoken() -> Iterator[Message]:
    yield Message(role="user", text=EVIL, at="2026-01-02T03:04:05Z")
    yield Message(role="tool result", text=EVIL, at=None)


def test_an_exported_page_runs_nothing_of_what_was_said() -> None:
    page = transcript_view.document("html", "run_<b>", spoken())
    assert "<script" not in page
    assert "&lt;script&gt;alert(&#x27;x&#x27;)" in page
    assert "run_&lt;b&gt;" in page


def test_an_exported_tool_result_stays_in_its_fence() -> None:
    text = transcript_view.document("md", "run_1", spoken())
    fenced = text.rpartition("## tool result\n\n")[2].splitlines()
    assert fenced[0] == fenced[-1] == "`````"


def test_secrets_are_not_in_the_archive_and_it_can_be_resumed_elsewhere(life: Life) -> None:
    secret, shape = "s3cret-of-my-own", f"sk-ant-api03-{'A' * 40}"
    odd = life.home.home / f"ünïcode dir {'long' * 40}" / "part"
    odd.mkdir(parents=True)
    link = life.home.home / "link"
    link.symlink_to(odd)
    prompt = f"remember {secret} and {shape}"
    env = life.home.env | {"MY_SECRET": secret}
    options = ("--env", "MY_SECRET", "--name", "first", "-C", link)
    done = life.start(*options, "--afk", prompt, env=env)
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n"), done.stderr
    said = [json.loads(line) for line in life.do("transcript", "first", "--json").splitlines()]
    assert {"role": "user", "text": "remember [redacted] and [redacted]"}.items() <= said[0].items()
    assert said[-1]["text"] == ANSWER
    for kept in (life.state / "transcripts").rglob("*"):
        assert stat.S_IMODE(kept.lstat().st_mode) == (0o700 if kept.is_dir() else 0o600)
        assert kept.is_dir() or not {secret, shape} & set(kept.read_text().split('"'))
    done = life.start("--resume", "first", "--name", "second", "--afk", "and then?")
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n"), done.stderr
    assert "remember [redacted]" in life.do("transcript", "second")
    assert "and then?" in life.do("transcript", "second")
    done = life.start("codex", "--resume", "first", "--afk", "x")
    assert done.returncode == 2
    assert "not with codex" in done.stderr
    forget(life)


def forget(life: Life) -> None:
    before = sorted(path.name for path in (life.state / "runs").glob("*.json"))
    assert life.json("prune", "--older-than", "1h")["runs"] == []
    document: Any = life.json("prune", "--older-than", "0s", "--dry-run")
    assert (document["dry_run"], len(document["runs"])) == (True, len(before))
    assert sorted(path.name for path in (life.state / "runs").glob("*.json")) == before
    assert life.do("prune", "--older-than", "0s") == f"forgot {len(before)} runs\n"
    assert life.json("list", "--all")["runs"] == []
    assert list((life.state / "transcripts").iterdir()) == []
    assert life.run("prune", "--older-than", "soon").returncode == 2


def test_no_archive_is_kept_where_none_is_wanted(life: Life) -> None:
    life.config('[run]\narchive = "never"\n')
    done = life.start("--name", "quiet", "--afk", "hi")
    assert done.returncode == 0, done.stderr
    done = life.run("transcript", "quiet")
    assert done.returncode == 2
    assert "none was kept" in done.stderr
    assert not (life.state / "transcripts").exists()


def test_a_codex_conversation_goes_on_in_another_workspace(life: Life) -> None:
    done = life.start("codex", "--name", "first", "--afk", "hi")
    assert done.returncode == 0, done.stderr
    elsewhere = life.home.home / "elsewhere"
    elsewhere.mkdir()
    done = life.start("--resume", "first", "-C", elsewhere, "--name", "second", "--afk", "more")
    assert done.returncode == 0, done.stderr
    text = life.do("transcript", "second")
    assert text.index("hi") < text.index("more")
