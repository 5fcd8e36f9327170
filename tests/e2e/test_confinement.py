"""What the agent's own tools can read and write in a room."""

import json
import shlex
from pathlib import Path

import pytest

from homeroom.toolchain.store import Toolchain
from tests.e2e.runner import Runner
from tests.e2e.session import ANSWER
from tests.e2e.tools import BYPASS, OTHER_RUN, SECRET, attempts, outcomes, run_tool, shell
from tests.support.model_server import calls_then_says, model_server
from tests.support.runs import Journal
from tests.support.tree import changes, snapshot


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


def test_what_the_agent_says_to_its_supervisor_does_not_stop_it(
    runner: Runner, toolchain: Toolchain
) -> None:
    """Without a terminal nobody would wake it, nor what shares its process group."""
    script = """
import os, sys
told = os.open(sys.argv[1] + "/told", os.O_RDWR | os.O_NONBLOCK)
try:
    while True:
        os.write(told, b"x" * 4096)
except BlockingIOError:
    os.write(os.open(sys.argv[1] + "/said", os.O_WRONLY), b"stopped\\n" * 3)
print("said")
"""
    command = f'python3 -c {shlex.quote(script)} "$TMPDIR/../c"'
    assert shell(runner, toolchain, command).strip() == "said"


def test_an_agent_that_crashes_leaves_no_core(runner: Runner, toolchain: Toolchain) -> None:
    """Its credential would be in it, in the workspace, when all else is wiped."""
    assert shell(runner, toolchain, "ulimit -Hc; ulimit -Sc").split() == ["0", "0"]
