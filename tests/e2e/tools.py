"""Tool calls of the real agent, by which tests try what it can do in its room."""

import json
from collections.abc import Mapping
from pathlib import Path

from homeroom.toolchain.store import Toolchain
from tests.conftest import PrivateHome
from tests.e2e.runner import Runner
from tests.e2e.session import ANSWER
from tests.support.model_server import calls_then_says, model_server
from tests.support.runs import Journal

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
    files["credentials"].chmod(0o600)
    files["ssh-key"].write_text(SECRET)
    files["config"].write_text('[run]\narchive = "never"\n')
    for directory in ("", "state", "state/instances", "state/runs", "state/transcripts", "config"):
        (home.root / directory).chmod(0o700)
    return files
