"""What a run leaves outside of its room when all of it is killed at once: nothing.

The sandbox makes mount points for what it denies and is missing, and takes them away at its
end, which a SIGKILL denies it (docs/explanation/operations.md).
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from homeroom.toolchain.store import Toolchain
from tests.life.conftest import Life, wait_until
from tests.support import patched
from tests.support.git import git
from tests.support.memory import Memory, own_tmp
from tests.support.model_server import ModelServer
from tests.support.runs import Journal, processes
from tests.support.tree import changes, snapshot

PROMPTS = {"claude": ("-p", "hi"), "codex": ("exec", "hi")}
MOMENTS = ("spawned", "proving", "started", "asking", "ended")
BYPASS = "--dangerously-skip-permissions"


@pytest.fixture
def namespace(tmp_path: Path, toolchain: Toolchain) -> Iterator[Memory]:
    """A /tmp that shows what a run puts there, since nobody else does."""
    # Python itself, wherever it and its packages are.
    python = [Path(entry) for entry in (sys.prefix, *sys.path) if os.path.isdir(entry)]
    own = (tmp_path, toolchain.root, Path(__file__).parents[2], *python)
    with own_tmp(*(path for path in own if path.is_relative_to("/tmp"))) as found:
        yield found


def furnish(workspace: Path) -> None:
    """Put in what is denied, missing, or a link to nothing."""
    (workspace / ".vscode").mkdir()
    (workspace / ".mcp.json").symlink_to("missing.json")
    (workspace / ".idea").symlink_to("no/such/place")
    (workspace / ".git" / "config.worktree").symlink_to("nowhere")
    (workspace / "below").mkdir()
    (workspace / "below" / ".bashrc").symlink_to("nothing")
    git(workspace, "worktree", "add", "-q", str(workspace / "below" / "tree"))
    (workspace / ".git" / "worktrees" / "tree" / "commondir").unlink()


def has_sandbox(root: Path) -> bool:
    for process in processes(root):
        with contextlib.suppress(psutil.Error):
            if "bwrap" in process.name():
                return True
    return False


def end_all(root: Path) -> None:
    """Kill everything of a run until nothing is left of it."""
    while left := processes(root):
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


def elsewhere(namespace: Memory) -> list[str]:
    """List the places of everybody's, as far as nothing was put there for the test."""
    root = Path(f"/proc/{namespace.pid}/root")
    return sorted(str(path) for at in ("tmp", "var/tmp") for path in (root / at).iterdir())


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("agent", PROMPTS)
def test_nothing_is_left_outside_of_the_room_when_all_is_killed(
    slow: Life, life_slow_server: ModelServer, namespace: Memory, agent: str, moment: str
) -> None:
    furnish(slow.workspace)
    argv = namespace.argv(slow.workspace, "start")
    at = argv.index("-m")
    patch = {"proving": "spawned", "asking": None}.get(moment, moment)
    # One that nobody answers waits, and the sandbox of one that has been killed soon ends.
    event = "SIGSTOP" if moment == "proving" else "SIGKILL"
    start = ["-m", "homeroom"] if patch is None else [patched.__file__, patch, event]
    # Whose end shall come must come to one by itself.
    words = ("--version",) if moment == "ended" else PROMPTS[agent]
    argv = [*argv[:at], *start, "start", agent, "--demo-server", slow.url, "--", *words]
    before = snapshot(slow.home.home), elsewhere(namespace)
    asked = Journal(life_slow_server)
    null = subprocess.DEVNULL
    with subprocess.Popen(argv, env=slow.home.env, stdin=null, stdout=null, stderr=null) as run:
        if moment == "proving":
            wait_until(lambda: has_sandbox(slow.home.root))
        elif moment == "asking":
            wait_until(asked.requests)
        else:
            run.wait(60)
        end_all(slow.home.root)
    assert changes(before[0], snapshot(slow.home.home)) == []
    assert elsewhere(namespace) == before[1]
    # What it left in its room, sockets of the sandbox's proxies for one, goes with that.
    assert [path.name for path in (slow.home.root / "tmp").iterdir()] != []
    slow.age()
    assert {one["verdict"] for one in slow.sweep()} == {"removed"}


def test_what_every_sandbox_could_write_is_shut(life: Life, namespace: Memory) -> None:
    """The sandbox lets each command write to /tmp/claude, which other programs make."""
    shared = Path(f"/proc/{namespace.pid}/root/tmp/claude")
    shared.mkdir(0o700)
    script = "echo x > /tmp/claude/left || echo refused; echo y > /dev/shm/left && echo own"
    (life.workspace / "try-git.sh").write_text(script)
    run = ("start", "--demo-server", life.url, "--", "-p", "try git", BYPASS)
    done = namespace.run(*run, env=life.home.env, cwd=life.workspace)
    assert done.returncode == 0, done.stderr
    tried = (life.workspace / "tried").read_text()
    assert tried.splitlines()[-2:] == ["refused", "own"]
    assert list(shared.iterdir()) == []
    assert not Path("/dev/shm/left").exists()


def test_a_link_that_a_run_replaces_is_told(life: Life) -> None:
    (life.workspace / "real.json").write_text("{}")
    (life.workspace / ".mcp.json").symlink_to("real.json")
    (life.workspace / ".zshrc").symlink_to("missing")
    script = "rm .mcp.json; echo {} > .mcp.json; echo x > missing"
    (life.workspace / "try-git.sh").write_text(script)
    done = life.start("--", "-p", "try git", BYPASS)
    assert done.returncode == 0, done.stderr
    for name in (".mcp.json", ".zshrc"):
        assert f"the run changed {life.workspace / name}, which other tools" in done.stderr
