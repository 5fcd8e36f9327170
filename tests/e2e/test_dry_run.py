"""A dry run shows the whole plan, and neither changes nor gives away anything."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from homeroom.toolchain.store import Toolchain
from tests.conftest import PrivateHome
from tests.e2e.runner import Runner
from tests.support.cli import run_homeroom
from tests.support.model_server import calls_then_says, model_server
from tests.support.runs import Journal
from tests.support.tree import changes, snapshot

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "json.md"
ACCESS, REFRESH = "sk-ant-oat01-the-access-token", "sk-ant-ort01-the-refresh-token"
CHOSEN = "a value that nobody may see"
KEY = "sk-ant-api03-the-key-of-the-user"
FORMS = [
    ("dry-run",),
    ("dry-run", "--json"),
    ("start", "--dry-run"),
    ("start", "--dry-run", "--json"),
]


@pytest.fixture
def furnished(private_home: PrivateHome, workspace: Path) -> PrivateHome:
    """A home with a login, and homeroom's own directories as after some runs."""
    store = private_home.home / ".claude"
    store.mkdir()
    grant = {
        "accessToken": ACCESS,
        "refreshToken": REFRESH,
        "expiresAt": 4102444800000,
        "scopes": ["user:inference"],
    }
    (store / ".credentials.json").write_text(json.dumps({"claudeAiOauth": grant}))
    (private_home.home / ".claude.json").write_text('{"oauthAccount": {"emailAddress": "me@x"}}')
    for name in ("state/instances", "state/runs", "config", "data", "tmp"):
        (private_home.root / name).mkdir(mode=0o700, parents=True)
    (private_home.root / "config" / "config.toml").write_text(
        '[environment]\ninherit = ["CHOSEN"]\n[network]\nallow = ["example.org"]\n'
    )
    (workspace / "file").write_text("mine")
    return private_home.with_env(CHOSEN=CHOSEN, MY_KEY=KEY)


@pytest.mark.parametrize("options", [(), ("--api-key-env", "MY_KEY"), ("--demo",)])
@pytest.mark.parametrize("form", FORMS, ids=" ".join)
def test_no_tree_changes_and_no_secret_shows(
    furnished: PrivateHome,
    toolchain: Toolchain,
    workspace: Path,
    tmp_path: Path,
    form: tuple[str, ...],
    options: tuple[str, ...],
) -> None:
    env = furnished.env | {"HOMEROOM_TOOLCHAIN": str(toolchain.root)}
    # The home, homeroom's own directories, their temporary root and the workspace.
    before = snapshot(tmp_path)
    tools = snapshot(toolchain.root, contents=False)
    arguments = (*form, *options, "--env", "CHOSEN", "--", "-p", "hi")
    done = run_homeroom(*arguments, env=env, cwd=workspace)
    assert (done.returncode, done.stderr) == (0, "")
    assert changes(before, snapshot(tmp_path)) == []
    assert changes(tools, snapshot(toolchain.root, contents=False)) == []
    for secret in (ACCESS, REFRESH, CHOSEN, KEY):
        assert secret not in done.stdout
    # It is said all the same that there is one, and which.
    assert "CHOSEN" in done.stdout
    expected = {(): ".credentials.json", ("--demo",): "the demo"}.get(options, "MY_KEY")
    assert expected in done.stdout


@pytest.mark.parametrize("form", FORMS, ids=" ".join)
def test_nothing_needs_to_be_installed(
    private_home: PrivateHome, workspace: Path, tmp_path: Path, form: tuple[str, ...]
) -> None:
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    before = snapshot(tmp_path)
    env = private_home.env | {"PATH": str(nothing)}
    done = run_homeroom(*form, "--", "-p", "hi", env=env, cwd=workspace)
    assert (done.returncode, done.stderr) == (0, "")
    assert changes(before, snapshot(tmp_path)) == []
    assert not private_home.root.exists()
    for missing in ("the toolchain", "bwrap", "socat"):
        assert missing in done.stdout
    if "--json" not in form:
        assert "homeroom setup" in done.stdout


def dry_run(home: PrivateHome, workspace: Path, *arguments: str) -> dict[str, Any]:
    done = run_homeroom("dry-run", "--json", *arguments, env=home.env, cwd=workspace)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_every_documented_key_is_there_and_no_other(
    furnished: PrivateHome, workspace: Path
) -> None:
    document = dry_run(furnished, workspace)
    table = REFERENCE.read_text().partition("## `homeroom dry-run --json`")[2].partition("\n#")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    documented = {key for row in rows for key in re.findall(r"`([^`]+)`", row)}
    assert {key.split(".")[0].removesuffix("[]") for key in documented} == document.keys()
    for key in documented:
        found: Any = document
        for part in key.replace("[]", "").split("."):
            assert isinstance(found, dict), key
            assert part in found, key
            found = found[part]
        assert isinstance(found, list) or not key.endswith("[]"), key


def test_both_commands_print_the_same_plan(furnished: PrivateHome, workspace: Path) -> None:
    def plan(*command: str) -> str:
        done = run_homeroom(*command, "--", "-p", "hi", env=furnished.env, cwd=workspace)
        assert done.returncode == 0, done.stderr
        return without_ids(done.stdout)

    assert plan("dry-run") == plan("start", "--dry-run")
    assert plan("dry-run", "--json") == plan("start", "--dry-run", "--json")


def without_ids(text: str) -> str:
    """Put words in place of a run's id, whole and in short."""
    run_id = re.search(r"run_([0-9a-f]{32})", text)
    assert run_id
    return text.replace(run_id[1], "ID").replace(run_id[1][:12], "SHORT")


def test_a_run_does_what_was_planned(runner: Runner, toolchain: Toolchain, workspace: Path) -> None:
    """Seen from inside: the variables, and what was seeded."""
    look = (
        'env -0 | grep -zvE "^(_|SHLVL|PWD)=" | tr "\\0" "\\n"; echo ==='
        '; cat "$CLAUDE_CONFIG_DIR/.claude.json"'
    )
    arguments = ("-p", "look", "--dangerously-skip-permissions")
    with model_server(toolchain, calls_then_says("Bash", {"command": look}, "done")) as server:
        options = ("--demo-server", server.url)
        done = run_homeroom(
            *("dry-run", "--json", *options, "--", *arguments), env=runner.home.env, cwd=workspace
        )
        planned = json.loads(without_ids(done.stdout))
        seen = Journal(server)
        assert runner.start(server, *arguments).returncode == 0
        variables, state = without_ids(seen.result()).split("===\n")
    found = dict(line.split("=", 1) for line in variables.splitlines() if "=" in line)
    assert planned["environment"].items() <= found.items()
    seeded = next(seed for seed in planned["seeds"] if seed["path"] == ".claude/.claude.json")
    assert seeded["keys"]["projects"].keys() <= json.loads(state)["projects"].keys()


@pytest.mark.parametrize("branch", [None, "topic"])
def test_where_a_worktree_would_be_is_shown_and_none_is_made(
    private_home: PrivateHome, workspace: Path, branch: str | None
) -> None:
    """With nothing installed, too."""
    before = snapshot(private_home.home)
    words = ("dry-run", "--demo", "--worktree", *([branch] if branch else []))
    done = run_homeroom(*words, "--json", env=private_home.env, cwd=workspace)
    document = json.loads(done.stdout)
    short = document["run_id"].removeprefix("run_")[:12]
    planned = {
        "path": str(workspace.resolve().with_name("project.worktrees") / short),
        "branch": branch or f"homeroom/{short}",
    }
    assert document["worktree"] == planned
    shown = run_homeroom(*words, env=private_home.env, cwd=workspace).stdout
    assert "\nWorktree, added at the start" in shown
    assert f"\n  path   {workspace.resolve().parent}" in shown
    assert changes(before, snapshot(private_home.home)) == []


def test_without_a_repository_no_worktree_is_promised(
    private_home: PrivateHome, tmp_path: Path
) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    words = ("dry-run", "--demo", "--worktree", "--json")
    done = run_homeroom(*words, env=private_home.env, cwd=bare)
    assert json.loads(done.stdout)["worktree"] is None
