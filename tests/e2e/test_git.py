"""Repositories: a commit is possible in a room, and nothing that leads out of it."""

import shlex
from pathlib import Path

import pytest

from homeroom.toolchain.store import Toolchain
from tests.conftest import PrivateHome
from tests.e2e.runner import Runner
from tests.e2e.session import ANSWER
from tests.e2e.tools import BYPASS, attempts, outcomes, shell
from tests.support.git import git
from tests.support.model_server import calls_then_says, model_server
from tests.support.tree import snapshot


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


def test_a_repository_that_the_run_makes_is_named(runner: Runner, toolchain: Toolchain) -> None:
    """What its configuration names is run by the user's own "git status", from above too."""
    command = "git init -q tools/theirs"
    with model_server(toolchain, calls_then_says("Bash", {"command": command}, ANSWER)) as server:
        done = runner.start(server, "-p", "go", BYPASS)
    assert f"the run made {runner.workspace}/tools/theirs/.git" in done.stderr
