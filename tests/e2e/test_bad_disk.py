"""A disk that is full, or may not be written: explained, and no room is left."""

import re
import subprocess
from subprocess import CompletedProcess

import pytest

from homeroom.toolchain.store import Toolchain
from tests.e2e.refusal import STATE, STORAGE, assert_refused
from tests.e2e.runner import Runner
from tests.e2e.session import ANSWER
from tests.e2e.tools import BYPASS
from tests.support.cli import homeroom_argv
from tests.support.model_server import calls_then_says, model_server
from tests.support.runs import Journal

pytestmark = pytest.mark.usefixtures("user_files_stay")


def in_namespace(
    runner: Runner, options: str, command: list[str], *, env: dict[str, str] | None = None
) -> CompletedProcess[str]:
    """Run a command with a file system of its own at HOMEROOM_HOME; then list the rooms."""
    runner.home.root.mkdir(mode=0o700)
    script = (
        'mount -t tmpfs -o "$1" tmpfs "$HOMEROOM_HOME" || exit 99; shift; "$@"; status=$?;'
        ' cd "$HOMEROOM_HOME"; rooms=$(ls -d state/instances/run_* tmp/[0-9a-f]* 2>/dev/null);'
        ' echo "rooms left: ${rooms:-none}" >&2; exit $status'
    )
    return subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh", options, *command],
        env=env or runner.home.env,
        cwd=runner.workspace,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "size",
    [
        *("size=4k", "size=12k", "size=28k", "size=44k"),
        *("nr_inodes=3", "nr_inodes=6", "nr_inodes=10", "nr_inodes=14", "nr_inodes=18"),
    ],
)
def test_a_full_disk_is_explained_and_no_room_is_left(
    runner: Runner, journal: Journal, size: str
) -> None:
    argv = homeroom_argv("start", "--demo-server", journal.url, "--", "-p", "hi")
    done = in_namespace(runner, f"mode=0700,{size}", argv)
    assert_refused(done, STORAGE, "No space left on device", "free some space", asked=journal)
    assert "rooms left: none" in done.stderr


def test_a_disk_that_the_agent_fills_is_emptied_with_its_room(
    runner: Runner, toolchain: Toolchain
) -> None:
    command = {"command": 'head -c 100M /dev/zero > "$HOME/fill"; df "$HOME" | tail -1'}
    with model_server(toolchain, calls_then_says("Bash", command, ANSWER)) as server:
        seen = Journal(server)
        argv = homeroom_argv("start", "--demo-server", server.url, "--", "-p", "hi", BYPASS)
        show = ["sh", "-c", '"$@"; status=$?; df "$HOMEROOM_HOME" >&2; exit $status', "sh"]
        done = in_namespace(runner, "mode=0700,size=16m", [*show, *argv])
        assert seen.requests()
    # Whether the agent can answer without a file is its own affair.
    assert done.returncode in (0, 1, STORAGE), done.stderr
    assert "Traceback" not in done.stderr
    assert "rooms left: none" in done.stderr
    [used] = re.findall(r"(\d+)% ", done.stderr)
    assert int(used) < 10, done.stderr


def test_a_read_only_state_directory_is_explained(runner: Runner, journal: Journal) -> None:
    argv = homeroom_argv("start", "--demo-server", journal.url, "--", "-p", "hi")
    done = in_namespace(runner, "ro,mode=0700", argv)
    assert_refused(done, STATE, "Read-only file system", "HOMEROOM_HOME", asked=journal)


def test_a_small_limit_for_files_is_explained(runner: Runner, journal: Journal) -> None:
    """A quota and ``ulimit -f`` fail a write, not the making of a file."""
    argv = homeroom_argv("start", "--demo-server", journal.url, "--", "-p", "hi")
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *argv],
        env=runner.home.env,
        cwd=runner.workspace,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert_refused(done, STORAGE, "File too large", asked=journal)
