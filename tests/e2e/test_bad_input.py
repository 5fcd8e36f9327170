"""Bad input of every kind ends with words that help, the documented status, and no traces."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from homeroom.toolchain.store import Toolchain
from tests.conftest import PrivateHome
from tests.e2e.conftest import Runner, with_tool
from tests.e2e.session import ANSWER
from tests.support.cli import homeroom_argv, run_homeroom
from tests.support.model_server import calls_then_says, model_server
from tests.support.runs import Journal
from tests.support.tree import changes, snapshot

IS_ROOT = os.geteuid() == 0
BYPASS = "--dangerously-skip-permissions"
WORKSPACE, TOOL, STATE, STORAGE, CREDENTIAL, CONFIG = 66, 69, 73, 74, 76, 78


@pytest.fixture(autouse=True)
def user_files_stay(runner: Runner) -> Iterator[None]:
    """Whatever the test itself has put into the home by the time it starts a run."""
    before = {}
    real = Runner.start_plain

    def start_plain(self: Runner, *arguments: str, **more: object) -> CompletedProcess[str]:
        before.update(snapshot(self.home.home))
        return real(self, *arguments, **more)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Runner, "start_plain", start_plain)
        yield
    if before:
        assert changes(before, snapshot(runner.home.home)) == []


def assert_refused(
    done: CompletedProcess[str], status: int, *words: str, asked: Journal | None = None
) -> None:
    assert (done.returncode, done.stdout) == (status, ""), done.stderr
    assert "homeroom: error: " in done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
    if asked is not None:
        assert asked.requests() == []


def make_private(path: Path) -> Path:
    """Make a directory and its parents 0700: with ``parents``, ``mkdir`` obeys the umask."""
    if not path.is_dir():
        make_private(path.parent)
        path.mkdir(mode=0o700)
    return path


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


def config_file(home: PrivateHome) -> Path:
    path = home.root / "config" / "config.toml"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


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


def test_a_toolchain_that_is_not_installed_is_named(
    private_home: PrivateHome, workspace: Path
) -> None:
    done = run_homeroom(*("start", "--demo", "--", "-p", "hi"), env=private_home.env, cwd=workspace)
    assert_refused(done, TOOL, "the pinned tools are not installed", "homeroom setup")
    assert not (private_home.root / "state" / "instances").exists()


@pytest.mark.parametrize("named", ["relative", "/nonexistent", "{tmp}"])
def test_a_named_toolchain_that_is_none_is_refused(
    runner: Runner, journal: Journal, tmp_path: Path, named: str
) -> None:
    path = named.format(tmp=tmp_path)
    done = runner.start(journal, "-p", "hi", env=runner.home.env | {"HOMEROOM_TOOLCHAIN": path})
    assert_refused(done, TOOL, f"HOMEROOM_TOOLCHAIN={path}", asked=journal)


@pytest.mark.parametrize("kind", ["missing", "not executable", "a directory"])
@pytest.mark.parametrize("tool", ["claude", "node"])
def test_a_tool_that_cannot_be_run_is_named(
    runner: Runner,
    journal: Journal,
    toolchain: Toolchain,
    tmp_path: Path,
    tool: str,
    kind: str,
) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    root = with_tool(toolchain, tmp_path, **{tool: program})
    if kind == "missing":
        (root / f"own-{tool}").unlink()
    elif kind == "a directory":
        (root / f"own-{tool}").unlink()
        (root / f"own-{tool}").mkdir()
    env = runner.home.env | {"HOMEROOM_TOOLCHAIN": str(root)}
    done = runner.start(journal, "-p", "hi", env=env)
    assert_refused(done, TOOL, tool, str(root), "homeroom setup", asked=journal)


def bin_without(missing: str, directory: Path, env: dict[str, str]) -> Path:
    """Make a directory with all that homeroom calls of the system, but for one."""
    directory.mkdir()
    for name in {"bash", "bwrap", "env", "git", "rm", "sh", "socat", "which"} - {missing}:
        found = shutil.which(name, path=env["PATH"])
        assert found, name
        (directory / name).symlink_to(os.path.realpath(found))
    return directory


@pytest.mark.parametrize("tool", ["bwrap", "socat", "bash", "which"])
def test_a_system_tool_that_is_missing_is_named(
    runner: Runner, journal: Journal, tmp_path: Path, tool: str
) -> None:
    path = bin_without(tool, tmp_path / "bin", runner.home.env)
    done = runner.start(journal, "-p", "hi", env=runner.home.env | {"PATH": str(path)})
    assert_refused(done, TOOL, tool, "hint: ", asked=journal)


SECRET = "sk-ant-oat01-not-to-be-shown"
CORRUPT: dict[str, Callable[[Path], object]] = {
    "cut off": lambda path: path.write_text(f'{{"claudeAiOauth": {{"accessToken": "{SECRET}'),
    "not text": lambda path: path.write_bytes(b"\xff\xfe\x00" + SECRET.encode()),
    "empty": Path.touch,
    "a list": lambda path: path.write_text(f'["{SECRET}"]'),
    "too deep": lambda path: path.write_text('{"a":' * 100_000),
    "a directory": Path.mkdir,
    "a fifo": os.mkfifo,
}


@pytest.mark.parametrize("kind", CORRUPT)
@pytest.mark.parametrize("name", [".claude/.credentials.json", ".claude.json"])
def test_a_damaged_login_is_named_and_never_shown(runner: Runner, name: str, kind: str) -> None:
    home = runner.home.home
    (home / ".claude").mkdir()
    grant = {"accessToken": SECRET, "scopes": ["user:inference"], "expiresAt": 4102444800000}
    (home / ".claude" / ".credentials.json").write_text(json.dumps({"claudeAiOauth": grant}))
    path = home / name
    path.unlink(missing_ok=True)
    CORRUPT[kind](path)
    done = runner.start_plain("-p", "hi")
    assert_refused(done, CREDENTIAL, str(path), "hint: ")
    assert SECRET not in done.stderr


@pytest.mark.parametrize("name", [".claude/.credentials.json", ".claude.json"])
def test_a_damaged_login_is_no_matter_where_it_is_not_used(
    runner: Runner, journal: Journal, name: str
) -> None:
    path = runner.home.home / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("{")
    done = runner.start(journal, "-p", "hi")
    assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n"), done.stderr
