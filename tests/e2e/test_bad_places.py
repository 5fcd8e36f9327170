"""Places that cannot or must not be used: workspaces, homes, homeroom's own directories."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from homeroom.toolchain.store import Toolchain
from tests.e2e.refusal import (
    CONFIG,
    IS_ROOT,
    STATE,
    WORKSPACE,
    assert_refused,
    config_file,
    make_private,
)
from tests.e2e.runner import Runner
from tests.e2e.session import ANSWER
from tests.e2e.tools import BYPASS
from tests.support.cli import homeroom_argv, run_homeroom
from tests.support.model_server import calls_then_says, model_server
from tests.support.runs import Journal

pytestmark = pytest.mark.usefixtures("user_files_stay")


WORKSPACES = {
    "missing": "no such",
    "a file": "file",
    "a file's child": "file/child",
    "a dangling link": "dangling",
    "a loop of links": "loop",
    "the root": "/",
    "the home": ".",
    "the home, by a link": "home-link",
    "the home's parent": "..",
    "the agent's own store": ".claude",
    "below the agent's own store": ".claude/projects",
    "not UTF-8": "\udcff\udcfe",
    "a name of a NUL": "with\0nul",
    "too long": "n" * 256,
    "too deep": "d/" * 2100,
}


@pytest.mark.parametrize("kind", WORKSPACES)
def test_a_place_that_nobody_should_work_in_is_refused(
    runner: Runner, journal: Journal, kind: str
) -> None:
    home = runner.home.home
    (home / "file").write_text("mine")
    (home / "dangling").symlink_to("nowhere")
    (home / "loop").symlink_to("loop")
    (home / "home-link").symlink_to(home)
    (home / ".claude" / "projects").mkdir(parents=True)
    os.mkdir(os.fsencode(home) + b"/\xff\xfe")
    name = WORKSPACES[kind]
    if "\0" in name:
        # No program can be given such an argument.
        config_file(runner.home).write_text(f"[files]\nwrite = [{json.dumps('/' + name)}]\n")
        assert_refused(runner.start(journal, "-p", "hi"), CONFIG, "config.toml", asked=journal)
        return
    done = runner.start(journal, "-p", "hi", options=("-C", name), cwd=home)
    assert_refused(done, WORKSPACE, "cannot work in", "hint: ", asked=journal)


@pytest.mark.parametrize("name", ["", "state", "state/instances", "config", "data", "tmp"])
def test_homerooms_own_directories_are_no_workspace(
    runner: Runner, journal: Journal, name: str
) -> None:
    path = make_private(runner.home.root / name)
    done = runner.start(journal, "-p", "hi", options=("-C", path))
    assert_refused(done, WORKSPACE, f"cannot work in {path}", asked=journal)


def test_a_directory_that_is_gone_is_refused(runner: Runner, journal: Journal) -> None:
    gone = runner.home.home / "gone"
    gone.mkdir()
    inner = homeroom_argv("start", "--demo-server", journal.url, "--", "-p", "hi")
    done = subprocess.run(
        ["sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh", *inner],
        env=runner.home.env,
        cwd=gone,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert_refused(done, WORKSPACE, asked=journal)


@pytest.mark.parametrize("home", ["", "/", "/nonexistent/home"])
def test_a_home_that_is_none_is_explained(runner: Runner, journal: Journal, home: str) -> None:
    done = runner.start(journal, "-p", "hi", env=runner.home.env | {"HOME": home})
    if home == "/":
        assert_refused(done, STATE, "HOME is not set to a directory of your own", asked=journal)
    else:
        # The password file knows another one.
        assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n"), done.stderr


def test_a_home_behind_a_link_works_and_hides_as_much(
    runner: Runner, toolchain: Toolchain, tmp_path: Path
) -> None:
    home = runner.home.home
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id_ed25519").write_text("a private key")
    link = tmp_path / "link"
    link.symlink_to(home)
    paths = [f"{place}/.ssh/id_ed25519" for place in (home, link)]
    command = f"cat {' '.join(paths)} 2>/dev/null; echo work > made; echo done"
    env = runner.home.env | {"HOME": str(link), "HOMEROOM_HOME": str(link / "own")}
    with model_server(toolchain, calls_then_says("Bash", {"command": command}, ANSWER)) as server:
        seen = Journal(server)
        done = run_homeroom(
            *("start", "--demo-server", server.url, "--", "-p", "hi", BYPASS),
            env=env,
            cwd=link / "project",
        )
        assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n"), done.stderr
        assert seen.result() == "done"
    assert (home / "project" / "made").read_text() == "work\n"


def make_link(path: Path) -> None:
    elsewhere = path.parent / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    path.symlink_to(elsewhere)


def make_foreign(path: Path) -> None:
    path.mkdir(mode=0o700)
    os.chown(path, 65534, 65534)


UNUSABLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a link": (make_link, "is a symlink"),
    "a file": (Path.touch, "is not a directory"),
    "open to others": (lambda path: path.mkdir(mode=0o755), "is open to other users"),
    # Only root can give a directory away.
    **({"someone else's": (make_foreign, "belongs to uid 65534")} if IS_ROOT else {}),
}


@pytest.mark.parametrize("kind", UNUSABLE)
@pytest.mark.parametrize("name", ["state/instances", "state/runs", "state", "tmp"])
def test_an_unusable_directory_of_homerooms_own_is_refused(
    runner: Runner, journal: Journal, name: str, kind: str
) -> None:
    make, words = UNUSABLE[kind]
    path = runner.home.root / name
    for parent in (runner.home.root, path.parent):
        parent.mkdir(mode=0o700, exist_ok=True)
    make(path)
    before = os.lstat(path)
    done = runner.start(journal, "-p", "hi")
    assert_refused(done, STATE, str(path), words, "hint: ", asked=journal)
    after = os.lstat(path)
    assert (after.st_mode, after.st_uid) == (before.st_mode, before.st_uid)
    if path.is_symlink():
        assert os.listdir(path) == []
    # It is the test's own, and no leftover.
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


@pytest.mark.parametrize("name", ["h x", "h'x", 'h"x', "h$x", "h\nx", "h*x", "h\\x", "hü"])
def test_homerooms_own_directory_may_be_called_anything(
    runner: Runner, journal: Journal, name: str
) -> None:
    """srt names its sockets to a shell without quotes: they are put elsewhere then."""
    own = str(runner.home.root / name)
    done = runner.start(journal, "-p", "hi", env=runner.home.env | {"HOMEROOM_HOME": own})
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n"), done.stderr
