"""What the agent's own tools can do in a room: tried by tool calls of the real agent."""

import json
import shlex
import socket
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from homeroom.toolchain.store import Toolchain
from tests.conftest import PrivateHome
from tests.e2e.conftest import Runner
from tests.e2e.session import ANSWER
from tests.support.git import git
from tests.support.model_server import calls_then_says, model_server
from tests.support.runs import Journal
from tests.support.tree import changes, snapshot

BYPASS = "--dangerously-skip-permissions"
SECRET = "sk-ant-ort01-this-must-never-be-seen"
OTHER_RUN = f"run_{'0' * 32}"


def run_tool(
    runner: Runner,
    toolchain: Toolchain,
    tool: str,
    arguments: Mapping[str, object],
    cwd: Path | None = None,
) -> str:
    """Have the agent make one tool call, and return the result that it sent back."""
    with model_server(toolchain, calls_then_says(tool, arguments, ANSWER)) as server:
        seen = Journal(server)
        done = runner.start(server, "-p", "go", BYPASS, cwd=cwd)
        assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n"), done.stderr
        return seen.result()


def shell(runner: Runner, toolchain: Toolchain, script: str, cwd: Path | None = None) -> str:
    return run_tool(runner, toolchain, "Bash", {"command": script}, cwd)


def attempts(commands: Mapping[str, str]) -> str:
    """Write a script that tries each command and prints which of them succeeded."""
    lines = (
        f"if ( {command} ) >/dev/null 2>&1; then echo {name}: yes; else echo {name}: no; fi"
        for name, command in commands.items()
    )
    return "\n".join(lines)


def outcomes(result: str) -> dict[str, bool]:
    lines = (line.partition(": ") for line in result.splitlines())
    return {name: said == "yes" for name, _, said in lines}


def furnish(home: PrivateHome) -> dict[str, Path]:
    """Put into a home, and into homeroom's own places, what no run may see."""
    store = {"claudeAiOauth": {"accessToken": "sk-ant-oat01-x", "refreshToken": SECRET}}
    files = {
        "ssh-key": home.home / ".ssh" / "id_ed25519",
        "credentials": home.home / ".claude" / ".credentials.json",
        "settings": home.home / ".claude" / "settings.json",
        "account": home.home / ".claude.json",
        "other-agent": home.home / ".codex" / "auth.json",
        "netrc": home.home / ".netrc",
        "other-project": home.home / "other-project" / "notes",
        "other-run": home.root / "state" / "instances" / OTHER_RUN / "home" / "file",
        "record": home.root / "state" / "runs" / f"{OTHER_RUN}.txt",
        "transcript": home.root / "state" / "transcripts" / OTHER_RUN / "file",
        "config": home.root / "config" / "config.toml",
    }
    for name, path in files.items():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text(json.dumps(store | {"name": name}) if "json" in path.name else "")
    files["ssh-key"].write_text(SECRET)
    files["config"].write_text('[run]\narchive = "never"\n')
    for directory in ("", "state", "state/instances", "state/runs", "state/transcripts", "config"):
        (home.root / directory).chmod(0o700)
    return files


@pytest.fixture
def furnished(runner: Runner) -> Iterator[dict[str, Path]]:
    files = furnish(runner.home)
    yield files
    # These are no leftovers of the run.
    for name in ("record", "other-run"):
        files[name].unlink()
    files["other-run"].parent.rmdir()
    files["other-run"].parent.parent.rmdir()


def test_a_file_in_the_workspace_is_written(runner: Runner, toolchain: Toolchain) -> None:
    path = runner.workspace / "made.txt"
    run_tool(runner, toolchain, "Write", {"file_path": str(path), "content": "by the agent\n"})
    assert path.read_text() == "by the agent\n"


@pytest.mark.parametrize("where", ["beside", "home", "temp"])
def test_a_file_outside_the_workspace_is_not_written(
    runner: Runner, toolchain: Toolchain, tmp_path: Path, where: str
) -> None:
    home = runner.home.home
    target = {
        "beside": home / "escaped.txt",
        "home": home / ".bashrc",
        "temp": tmp_path / "escaped.txt",
    }[where]
    before = snapshot(home)
    result = run_tool(
        runner, toolchain, "Write", {"file_path": str(target), "content": "out of the room\n"}
    )
    assert not target.exists(), result
    assert changes(before, snapshot(home)) == []


def test_what_others_own_is_not_read(
    runner: Runner, toolchain: Toolchain, furnished: dict[str, Path]
) -> None:
    mine = runner.workspace / "mine"
    mine.write_text("readable")
    paths = {"mine": mine, "system": Path("/etc/passwd"), **furnished}
    tries = {name: f"cat {shlex.quote(str(path))}" for name, path in paths.items()}
    linked = {
        f"link-to-{name}": f"ln -s {furnished[name]} {name} && cat {name}"
        for name in ("ssh-key", "credentials")
    }
    found = outcomes(shell(runner, toolchain, attempts(tries | linked)))
    assert {name for name, succeeded in found.items() if succeeded} == {"mine", "system"}
    assert len(found) == len(paths) + 2


def test_the_agents_own_reader_does_not_see_a_key(
    runner: Runner, toolchain: Toolchain, furnished: dict[str, Path]
) -> None:
    key = furnished["ssh-key"]
    result = run_tool(runner, toolchain, "Read", {"file_path": str(key)})
    assert "does not exist" in result
    assert SECRET not in result


def test_what_others_own_is_not_written_or_removed(
    runner: Runner, toolchain: Toolchain, furnished: dict[str, Path], tmp_path: Path
) -> None:
    home, state = runner.home.home, runner.home.root / "state"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("kept")
    places = (home, elsewhere, state / "instances" / OTHER_RUN, runner.home.root / "config")
    before = [snapshot(place) for place in places]
    quoted = {name: shlex.quote(str(path)) for name, path in furnished.items()}
    tries = {f"remove-{name}": f"rm {path}" for name, path in quoted.items()}
    tries |= {
        "own": "echo x > mine && rm mine",
        "own-home": 'echo x > "$HOME/mine"',
        "own-temp": 'echo x > "$TMPDIR/mine"',
        "write-elsewhere": f"echo x > {elsewhere}/new",
        "change-elsewhere": f"echo x >> {elsewhere}/kept",
        "remove-elsewhere": f"rm {elsewhere}/kept",
        "modes-elsewhere": f"chmod 777 {elsewhere}/kept",
        "times-elsewhere": f"touch {elsewhere}/kept",
        "write-by-link": f"ln -s {elsewhere} out && echo x > out/new",
        "move-workspace": f"mv {runner.workspace} {runner.workspace}-moved",
        "read-proof": 'cat "${HOME%/home}/canary"',
        "settings": 'echo x >> "${HOME%/home}/runtime/settings.json"',
        "prelude": 'echo x >> "${HOME%/home}/runtime/prelude.sh"',
        "environment": 'cat "${HOME%/home}/runtime/environment"',
        "toolchain": f"echo x > {toolchain.root}/new",
    }
    # A denied directory is an empty one in the room, so that only the disk tells here.
    denied = (home / ".bashrc", home / ".ssh" / "authorized_keys", furnished["other-run"])
    lost = "".join(f"\nmkdir -p {path.parent}; echo x > {path}" for path in denied)
    result = shell(runner, toolchain, f"{attempts(tries)}{lost}")
    (runner.workspace / "out").unlink()
    found = outcomes(result)
    assert {name for name, succeeded in found.items() if succeeded} == {
        "own",
        "own-home",
        "own-temp",
    }
    after = [snapshot(place) for place in places]
    differences = [line for pair in zip(before, after, strict=True) for line in changes(*pair)]
    assert [line for line in differences if not line.startswith("project: mtime")] == []


class Listener:
    """Servers on this machine that nobody in a room may reach, and who came all the same."""

    def __init__(self, directory: Path) -> None:
        self.visits: list[str] = []
        visits = self.visits

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                visits.append(self.path)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._http.server_address[1]
        self.socket = directory / "socket"
        self._unix = socket.socket(socket.AF_UNIX)
        self._unix.bind(str(self.socket))
        self._unix.listen()
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._unix.accept()
            except OSError:
                return
            self.visits.append("unix")
            connection.close()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._unix.shutdown(socket.SHUT_RDWR)
        self._unix.close()


@pytest.fixture
def listener(workspace: Path) -> Iterator[Listener]:
    found = Listener(workspace)
    yield found
    found.close()


def test_only_allowed_hosts_are_reached(
    runner: Runner, toolchain: Toolchain, listener: Listener
) -> None:
    node = shlex.quote(str(toolchain.tools["node"].path))

    def fetch(url: str) -> str:
        program = f"fetch('{url}').then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))"
        return f'NODE_USE_ENV_PROXY=1 {node} -e "{program}"'

    def connect(target: str) -> str:
        program = (
            f"require('net').connect({target}, () => process.exit(0))"
            ".on('error', () => process.exit(1))"
        )
        return f'{node} -e "{program}"'

    other = f"http://127.0.0.1:{listener.port}"
    # The allowed server's own address is in the environment.
    tries = {
        "allowed": fetch("$ANTHROPIC_BASE_URL/__aimock/health"),
        "other-server": fetch(f"{other}/proxy"),
        "other-name": fetch(f"http://localhost:{listener.port}/name"),
        "the-vendor": fetch("https://api.anthropic.com/"),
        "git": f"git ls-remote {other}/git",
        "direct": f"exec 3<>/dev/tcp/127.0.0.1/{listener.port}",
        "direct-allowed": 'exec 3<>"/dev/tcp/127.0.0.1/${ANTHROPIC_BASE_URL##*:}"',
        "internet": "exec 3<>/dev/tcp/192.0.2.1/80",
        "direct-node": connect(f"{listener.port}, '127.0.0.1'"),
        "unix": connect(f"'{listener.socket}'"),
    }
    found = outcomes(shell(runner, toolchain, attempts(tries)))
    assert {name for name, succeeded in found.items() if succeeded} == {"allowed"}
    assert found.keys() == tries.keys()
    assert listener.visits == []
    # Else nothing was shown: from outside both can be reached.
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(listener.socket))
        assert client.recv(1) == b""
    assert listener.visits == ["unix"]


def test_a_host_that_the_user_allows_is_reached(
    runner: Runner, toolchain: Toolchain, listener: Listener
) -> None:
    config = runner.home.root / "config" / "config.toml"
    config.parent.mkdir(mode=0o700, parents=True)
    config.write_text(f'[network]\nallow = ["127.0.0.1:{listener.port}"]\n')
    shell(runner, toolchain, f"git ls-remote http://127.0.0.1:{listener.port}/asked")
    assert listener.visits[0].startswith("/asked/info/refs")


@pytest.fixture
def repository(tmp_path: Path, private_home: PrivateHome) -> Path:
    """A repository outside the home, whose commits get their author from the user's own file."""
    (private_home.home / ".gitconfig").write_text(
        '[user]\n\tname = A \\"quoted\\" Name\n\temail = user@example.invalid\n'
        "[alias]\n\tst = status\n"
    )
    directory = tmp_path / "repository"
    directory.mkdir()
    git(directory, "init", "-q", "-b", "main")
    as_root = ("-c", "user.name=Root", "-c", "user.email=root@example.invalid")
    git(directory, *as_root, "commit", "-q", "--allow-empty", "-m", "start")
    return directory


COMMIT = "echo new > new-file && git add new-file && git commit -q -m 'from the room' && echo done"


def place_of(kind: str, repository: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Make a place to work in; return it and the top of its work tree."""
    if kind == "worktree":
        tree = tmp_path / "trees" / "tree"
        git(repository, "worktree", "add", "-q", "-b", "side", str(tree))
        return tree, tree
    if kind == "submodule":
        parent = tmp_path / "parent"
        parent.mkdir()
        git(parent, "init", "-q", "-b", "main")
        local = ("-c", "protocol.file.allow=always")
        git(parent, *local, "submodule", "--quiet", "add", str(repository), "libs/module")
        return parent / "libs" / "module", parent / "libs" / "module"
    if kind == "subdirectory":
        (repository / "a" / "b").mkdir(parents=True)
        return repository / "a" / "b", repository
    return repository, repository


PLACES = ["repository", "worktree", "submodule", "subdirectory"]


@pytest.mark.parametrize("kind", PLACES)
def test_a_commit_can_be_made(
    runner: Runner, toolchain: Toolchain, repository: Path, tmp_path: Path, kind: str
) -> None:
    directory, top = place_of(kind, repository, tmp_path)
    result = shell(runner, toolchain, COMMIT, directory)
    log = git(top, "log", "-1", "--format=%an <%ae> %s").strip()
    assert (result, log) == ("done", 'A "quoted" Name <user@example.invalid> from the room')
    assert git(top, "status", "--porcelain") == ""
    assert (directory / "new-file").read_text() == "new\n"


@pytest.mark.parametrize("kind", PLACES)
def test_what_git_executes_cannot_be_changed(
    runner: Runner, toolchain: Toolchain, repository: Path, tmp_path: Path, kind: str
) -> None:
    directory, top = place_of(kind, repository, tmp_path)
    common = Path(git(top, "rev-parse", "--path-format=absolute", "--git-common-dir").strip())
    (common / "hooks" / "pre-commit").write_text("#!/bin/sh\n")
    before = {name: snapshot(common / name) for name in ("config", "hooks")}
    link = snapshot(top / ".git", contents=True) if (top / ".git").is_file() else {}
    quoted = shlex.quote(str(common))
    found = outcomes(
        shell(
            runner,
            toolchain,
            attempts(
                {
                    "control": "git status",
                    "config": "git config core.fsmonitor /bin/false",
                    "append": f"echo x >> {quoted}/config",
                    "replace": f"echo x > x && mv x {quoted}/config",
                    "remove": f"rm {quoted}/config",
                    "hook": f"echo x > {quoted}/hooks/post-commit",
                    "hook-change": f"echo x >> {quoted}/hooks/pre-commit",
                    "hook-mode": f"chmod +x {quoted}/hooks/pre-commit",
                    "hooks-away": f"mv {quoted}/hooks {quoted}/away",
                    "repository-away": f"mv {quoted} {quoted}-away",
                    "link-away": f"mv {shlex.quote(str(top / '.git'))} away",
                    "link-over": f"echo x > x && mv -T x {shlex.quote(str(top / '.git'))}",
                }
            ),
            directory,
        )
    )
    assert {name for name, succeeded in found.items() if succeeded} == {"control"}
    assert {name: snapshot(common / name) for name in ("config", "hooks")} == before
    assert (snapshot(top / ".git") if link else {}) == link


@pytest.mark.parametrize("name", [".mcp.json", ".vscode", ".claude/commands", ".bashrc"])
def test_what_other_tools_obey_cannot_be_changed(
    runner: Runner, toolchain: Toolchain, name: str
) -> None:
    path = runner.workspace / name
    path.parent.mkdir(exist_ok=True)
    if "." in path.name[1:] or path.name == ".bashrc":
        path.write_text("{}")
    else:
        path.mkdir()
        (path / "file").write_text("{}")
    before = snapshot(path)
    top = name.partition("/")[0]
    tries = {
        "control": "echo x > other",
        "write": f"echo x > {name} || echo x > {name}/file",
        "remove": f"rm -r {name}",
        "away": f"mv {top} away",
    }
    found = outcomes(shell(runner, toolchain, attempts(tries)))
    assert {tried for tried, succeeded in found.items() if succeeded} == {"control"}
    assert snapshot(path) == before


def test_a_new_file_that_other_tools_obey_is_told(runner: Runner, toolchain: Toolchain) -> None:
    path = runner.workspace / ".mcp.json"
    with model_server(
        toolchain, calls_then_says("Bash", {"command": "echo {} > .mcp.json"}, ANSWER)
    ) as server:
        done = runner.start(server, "-p", "go", BYPASS)
    assert done.returncode == 0
    assert path.exists()
    assert f"the run made {path}" in done.stderr


def test_no_stub_is_left_in_a_workspace_that_is_no_repository(
    runner: Runner, toolchain: Toolchain, tmp_path: Path
) -> None:
    directory = tmp_path / "plain"
    directory.mkdir()
    assert shell(runner, toolchain, "ls -A", directory) == "(Bash completed with no output)"
    assert snapshot(directory).keys() == {"."}


HOSTILE_LINKS = {
    "home": {".git": "gitdir: {home}\n"},
    "a secret directory": {".git": "gitdir: {home}/.ssh\n"},
    # A repository that the workspace itself brings along, and that claims the home as the
    # place of its main repository.
    "a main repository": {
        ".git": "gitdir: fake\n",
        "fake/HEAD": "ref: refs/heads/main\n",
        "fake/gitdir": "../.git\n",
        "fake/commondir": "../../..\n",
    },
    "a work tree": {
        ".git": "gitdir: fake\n",
        "fake/HEAD": "ref: refs/heads/main\n",
        "fake/config": "[core]\n\tworktree = {home}\n",
    },
}


@pytest.mark.parametrize("files", HOSTILE_LINKS.values(), ids=HOSTILE_LINKS)
def test_a_hostile_git_link_opens_nothing(
    runner: Runner, toolchain: Toolchain, furnished: dict[str, Path], files: dict[str, str]
) -> None:
    home = runner.home.home
    # git keeps the part of each worktree in a directory of this name.
    directory = home / "worktrees" / "project"
    directory.mkdir(parents=True)
    for name, text in files.items():
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_text(text.format(home=home))
    before = snapshot(home / ".ssh")
    tries = {"control": "echo x > file", "read": f"cat {furnished['ssh-key']}"}
    writes = f"\necho x > {furnished['ssh-key']}\necho x > {home}/escaped"
    found = outcomes(shell(runner, toolchain, attempts(tries) + writes, directory))
    assert {name for name, succeeded in found.items() if succeeded} == {"control"}
    assert snapshot(home / ".ssh") == before
    assert not (home / "escaped").exists()


def test_a_room_holds_no_refresh_token(
    runner: Runner, toolchain: Toolchain, furnished: dict[str, Path]
) -> None:
    """With the user's own login, and a model server in the vendor's place all the same."""
    access = "sk-ant-oat01-access-token-of-the-user"
    furnished["credentials"].write_text(
        json.dumps(
            {
                "claudeAiOauth": {
                    "accessToken": access,
                    "refreshToken": SECRET,
                    "expiresAt": 4102444800000,
                    "scopes": ["user:inference"],
                    "subscriptionType": "max",
                }
            }
        )
    )
    command = (
        'cat "$CLAUDE_CONFIG_DIR/.credentials.json"; env -0 | tr "\\0" "\\n" | grep -c "ort0[1]";'
        ' grep -rl "ort0[1]" "$HOME" "$TMPDIR" "${HOME%/home}/runtime"'
    )
    with model_server(toolchain, calls_then_says("Bash", {"command": command}, ANSWER)) as server:
        furnished["config"].write_text(f'[network]\nallow = ["127.0.0.1:{server.port}"]\n')
        given = {"ANTHROPIC_BASE_URL": server.url, "NO_PROXY": "none", "no_proxy": "none"}
        seen = Journal(server)
        done = runner.start_plain(
            *("-p", "go", BYPASS),
            options=[word for name in given for word in ("--env", name)],
            env=runner.home.env | given,
        )
        result = seen.result()
        headers = [request["headers"] for request in seen.requests()]
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{ANSWER}\n", "")
    assert SECRET not in json.dumps([result, headers])
    assert access in result
    assert '"refreshToken": null' in result
    # What grep counted in the environment, and no file that it found.
    assert result.endswith("}0") or result.splitlines()[-1] == "0"
