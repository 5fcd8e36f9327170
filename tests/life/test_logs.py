"""``homeroom logs``: text and colours at a terminal, text alone in a pipe, and no question."""

import os
import pty
import subprocess

import pytest

from homeroom.session.tmux import Tmux
from tests.life.conftest import Life, wait_until
from tests.life.scene import Scene
from tests.support.cli import homeroom_argv, run_homeroom

SENT = b"\x1b[?1049h\x1b[?25l\x1b[c\x1b[>q\x1b[6n\x1b]11;?\x07\x1b[31mred\x1b[39m word\r\nend"


@pytest.fixture
def ended(scene: Scene) -> str:
    """A run that is over, whose agent asked its terminal all sorts of things."""
    run_id = scene.begin("ended", session="tmux")
    log = Tmux(scene.paths, scene.env).log(run_id)
    log.parent.mkdir(mode=0o700)
    log.write_bytes(SENT)
    return run_id


def at_a_terminal(scene: Scene, *words: str, **more: str) -> bytes:
    master, slave = pty.openpty()
    try:
        with os.fdopen(slave, "wb") as out:
            argv = homeroom_argv(*words)
            subprocess.run(argv, env=scene.env | more, stdout=out, check=True, timeout=60)
        os.set_blocking(master, False)
        return os.read(master, 65536)
    finally:
        os.close(master)


def test_a_terminal_is_asked_nothing_and_keeps_its_screen_and_cursor(
    scene: Scene, ended: str
) -> None:
    assert at_a_terminal(scene, "logs", ended) == b"\x1b[31mred\x1b[39m word\r\nend\x1b[0m\r\n"
    assert at_a_terminal(scene, "logs", ended, NO_COLOR="1") == b"red word\r\nend\r\n"


def test_a_pipe_gets_text_alone(scene: Scene, ended: str) -> None:
    for words in (["logs", ended], ["logs", "-f", ended]):
        done = run_homeroom(*words, env=scene.env, cwd=scene.paths.state)
        assert (done.returncode, done.stdout, done.stderr) == (0, "red word\nend\n", "")


def test_of_a_living_run_it_shows_the_screen(life: Life) -> None:
    run_id = life.detach("--name", "living")
    life.wait_prompt(run_id)
    shown = life.do("logs", "living")
    assert "\u276f" in shown
    assert "\x1b" not in shown
    # As the screen has them: between words that the agent moved its cursor over as well.
    screen = ("capture-pane", "-p", "-S", "-", "-t", f"={run_id}:")
    wait_until(lambda: life.do("logs", "living").split() == life.tmux(*screen).stdout.split())
    following = life.popen("logs", "-f", "living")
    life.do("send", "living", "say hello")
    wait_until(lambda: "say hello" in life.run("transcript", "living").stdout)
    life.do("stop", "living")
    out, said = following.communicate(timeout=30)
    assert (following.returncode, said) == (0, b"")
    assert "say hello" in out.decode()
    assert b"\x1b" not in out
    assert "say hello" in life.do("logs", "living")
