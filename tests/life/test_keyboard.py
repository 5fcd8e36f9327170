"""What is sent to a run arrives whole, its Enter included, however early it is sent."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from homeroom.errors import StateError, TryAgainError
from homeroom.home import new_run_id
from homeroom.paths import Paths, locate
from homeroom.session import keyboard
from homeroom.session.tmux import Tmux
from tests.conftest import PrivateHome
from tests.life.conftest import ANSWER, Life, wait_until
from tests.life.scene import Scene
from tests.support.cli import homeroom_argv, run_homeroom

# Reads lines for a while as a program that starts, then keys; writes down what it got. What
# it reads in one go is a paste, and an Enter in there no key: agents see it so.
READER = """
import os, sys, termios, time, tty
kind, file = sys.argv[1:]
print("starting", flush=True)
time.sleep(1)
if kind != "lines":
    termios.tcflush(0, termios.TCIFLUSH)
    tty.setraw(0)
    print("ready\\r", flush=True)
while True:
    got = os.read(0, 65536)
    if kind == "deaf":
        continue
    with open(file, "ab") as out:
        out.write(got + b"|")
    text = got.replace(b"\\r", b" ")
    os.write(1, b"[a long text]" if kind == "mark" else text)
"""


@pytest.fixture
def paths(private_home: PrivateHome) -> Paths:
    return locate(private_home.env)


@pytest.fixture
def tmux(private_home: PrivateHome, paths: Paths) -> Iterator[Tmux]:
    found = Tmux(paths, private_home.env)
    yield found
    subprocess.run(found.argv("kill-server"), check=False, capture_output=True)


@pytest.fixture
def hold(tmux: Tmux, tmp_path: Path) -> Callable[[str], str]:
    """Hold a program that reads keys, or does not; return its run's id."""

    def held(kind: str) -> str:
        run_id = new_run_id()
        argv = [sys.executable, "-c", READER, kind, str(tmp_path / "got")]
        tmux.hold(run_id, argv, tmp_path, "reader")
        return run_id

    return held


def got(tmp_path: Path) -> bytes:
    path = tmp_path / "got"
    return path.read_bytes() if path.exists() else b""


@pytest.mark.parametrize("kind", ["text", "mark"])
def test_a_text_sent_too_early_waits_and_its_enter_is_a_key_of_its_own(
    tmux: Tmux, hold: Callable[[str], str], tmp_path: Path, kind: str
) -> None:
    keyboard.type_text(tmux, hold(kind), "write a file")
    assert wait_until(lambda: got(tmp_path).endswith(b"\r|"))
    assert got(tmp_path) == b"write a file|\r|"


def test_blanks_need_not_show(tmux: Tmux, hold: Callable[[str], str], tmp_path: Path) -> None:
    keyboard.type_text(tmux, hold("text"), " ")
    assert wait_until(lambda: got(tmp_path).replace(b"|", b"") == b" \r")


def test_no_text_is_enter_alone(tmux: Tmux, hold: Callable[[str], str], tmp_path: Path) -> None:
    keyboard.type_text(tmux, hold("text"), "")
    assert wait_until(lambda: got(tmp_path)) == b"\r|"


@pytest.mark.parametrize(
    ("kind", "said"), [("lines", "did not read keys"), ("deaf", "does not show on its screen")]
)
def test_what_is_not_taken_is_said_and_no_enter_is_pressed(
    tmux: Tmux,
    hold: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    said: str,
) -> None:
    if kind == "lines":
        monkeypatch.setattr(keyboard, "_READY_LIMIT", 2.0)
    monkeypatch.setattr(keyboard, "_ARRIVAL_LIMIT", 1.0)
    run_id = hold(kind)
    pressed: list[str] = []
    monkeypatch.setattr(tmux, "send_keys", lambda _, *keys: pressed.extend(keys))
    with pytest.raises(TryAgainError, match=said) as caught:
        keyboard.type_text(tmux, run_id, "hello")
    assert caught.value.hint == f"look at it with `homeroom attach {run_id[:12]}`"
    assert pressed == []
    assert got(tmp_path) == b""


def test_a_session_that_is_over_is_no_reason_to_wait(
    tmux: Tmux, hold: Callable[[str], str]
) -> None:
    run_id = hold("text")
    subprocess.run(tmux.argv("kill-session", "-t", f"={run_id}"), check=True)
    with pytest.raises(StateError, match="not held"):
        keyboard.type_text(tmux, run_id, "hello")


def test_the_agent_answers_what_was_sent_at_once_after_its_start(life: Life) -> None:
    life.detach("--name", "early")
    life.do("send", "early", "write a file")
    assert wait_until(lambda: ANSWER in life.run("transcript", "early").stdout)
    assert "write a file" in life.do("transcript", "early")
    life.do("send", "early", "--", "-x is one option")
    wait_until(lambda: life.do("transcript", "early").count(ANSWER) == 2)
    done = subprocess.run(
        homeroom_argv("send", "early", "-"),
        env=life.home.env,
        input=b"two\nlines\n",
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    wait_until(lambda: life.do("transcript", "early").count(ANSWER) == 3)
    said = life.do("transcript", "early")
    assert "-x is one option" in said
    assert "two\nlines" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [([], "there is no text to type"), (["a", "--", "b"], "give one text to type")],
)
def test_a_send_without_one_text_is_told_how_it_is_written(
    life: Life, words: list[str], said: str
) -> None:
    done = life.run("send", "early", *words)
    assert done.returncode == 2
    assert f"homeroom: error: {said}" in done.stderr
    assert "hint: homeroom send early 'hello'" in done.stderr


@pytest.mark.parametrize("command", ["attach", "send", "interrupt"])
def test_a_run_in_the_foreground_is_named_as_one(scene: Scene, command: str) -> None:
    _, held = scene.alive(name="mine")
    try:
        more = ["hi"] if command == "send" else []
        done = run_homeroom(command, "mine", *more, env=scene.env, cwd=Path("/"))
    finally:
        held.abandon()
    assert done.returncode == 2
    assert "error: mine runs in the foreground of another terminal" in done.stderr
