"""A faulty configuration is explained, and nothing is started."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.refusal import (
    CONFIG,
    IS_ROOT,
    assert_refused,
    config_file,
    make_private,
)
from tests.e2e.runner import Runner
from tests.support.cli import run_homeroom
from tests.support.runs import Journal

pytestmark = pytest.mark.usefixtures("user_files_stay")


CONFIGS = {
    "not TOML": (b"[network\nallow = 1", "not valid TOML"),
    "not text": (b"\xff\xfe\x00\x01", "UTF-8"),
    "endless": (b"a = " + b"[" * 100_000, "not valid TOML"),
    "unknown table": (b"[netwrk]\n", "did you mean network?"),
    "unknown key": (b"[network]\nalow = []\n", "did you mean network.allow?"),
    "a strange key": (b"zzzzzz = 1\n", "known here: "),
    "a table as value": (b"network = 1\n", "config.toml"),
    "wrong type": (b'[network]\nallow = "example.org"\n', "allow"),
    "wrong item": (b"[files]\nread = [1]\n", "read"),
    "no host": (b'[network]\nallow = ["http://example.org/"]\n', "is not a host"),
    "relative path": (b'[files]\nwrite = ["here"]\n', "is not absolute"),
    "no variable": (b'[environment]\ninherit = ["A=B"]\n', "A=B"),
    "too patient": (b"[run]\nstop_grace = 1e9\n", "stop_grace"),
    "not a number": (b"[run]\nstop_grace = nan\n", "stop_grace"),
    "wrong choice": (b'[run]\narchive = "sometimes"\n', "archive"),
}


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_faulty_config_is_explained(runner: Runner, journal: Journal, kind: str) -> None:
    content, words = CONFIGS[kind]
    path = config_file(runner.home)
    path.write_bytes(content)
    done = runner.start(journal, "-p", "hi")
    assert_refused(done, CONFIG, str(path), words, asked=journal)
    planned = run_homeroom("dry-run", env=runner.home.env, cwd=runner.workspace)
    assert_refused(planned, CONFIG, str(path), words)
    assert path.read_bytes() == content


# root may read what nobody else may.
UNREADABLE: dict[str, Callable[[Path], object]] = {
    "a directory": Path.mkdir,
    "a fifo": os.mkfifo,
    "a loop of links": lambda path: path.symlink_to(path.name),
    **({} if IS_ROOT else {"closed": lambda path: path.touch(0)}),
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_config_that_cannot_be_read_is_explained(
    runner: Runner, journal: Journal, kind: str
) -> None:
    path = config_file(runner.home)
    UNREADABLE[kind](path)
    done = runner.start(journal, "-p", "hi")
    assert_refused(done, CONFIG, str(path), "hint: ", asked=journal)


@pytest.mark.parametrize(
    "name",
    ["provider", "data", "state/instances", "state", "config"],
)
def test_a_config_that_would_open_what_is_private_is_refused(
    runner: Runner, journal: Journal, name: str
) -> None:
    store = runner.home.home / ".claude"
    path = make_private(store if name == "provider" else runner.home.root / name)
    config_file(runner.home).write_text(f"[files]\nread = [{json.dumps(str(path))}]\n")
    done = runner.start(journal, "-p", "hi")
    assert_refused(done, CONFIG, str(path), "no run may see", asked=journal)


def test_an_agent_that_is_not_known_is_refused(runner: Runner) -> None:
    done = runner.start_plain("-p", "hi", options=("nobody",))
    assert_refused(done, 2, "there is no agent 'nobody'", "the agents are: claude")
