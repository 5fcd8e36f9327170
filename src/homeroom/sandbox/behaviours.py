"""What any sandbox must do, written once: for ``check``, the tests and the version matrix.

A behaviour is a statement about one sandbox under one policy. All that need a process
inside are tried by one (``behaviour.mjs``), because each start of a sandbox costs time.
"""

import contextlib
import http.server
import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from homeroom.home import Instance
from homeroom.paths import Paths
from homeroom.policy import Policy
from homeroom.sandbox import Sandbox, trial

_LIMIT = 30.0
# What shells, JSON and option parsers would spoil.
HOSTILE_WORDS = ("a b", "q\"u'o", "$HOME `id`", "-c", "--", "", "tab\tnew\nline", "ü✓", "*")


@dataclass(frozen=True)
class Behaviour:
    """One statement.

    Attributes:
        name: As ``network.direct``.
        title: What must be true, for people.
        expected: "open", "refused", or an exit status.
    """

    name: str
    title: str
    expected: str


BEHAVIOURS = (
    Behaviour("write.workspace", "The workspace can be written to", "open"),
    Behaviour("write.home", "The private home can be written to", "open"),
    Behaviour("write.tmp", "TMPDIR can be written to", "open"),
    Behaviour("write.outside", "Nothing outside can be written to", "refused"),
    Behaviour("write.runtime", "The sandbox's own settings cannot be changed", "refused"),
    Behaviour("write.git-hooks", "The repository's hooks cannot be changed", "refused"),
    Behaviour("read.workspace", "The workspace can be read", "open"),
    Behaviour("read.canary", "The canary cannot be read", "refused"),
    Behaviour("read.user-home", "A file in the user's home cannot be read", "refused"),
    Behaviour("read.other-room", "Another room cannot be read", "refused"),
    Behaviour("network.allowed", "An allowed host is reached through the proxy", "open"),
    Behaviour("network.other-host", "Any other host is refused", "refused"),
    Behaviour("network.direct", "Past the proxy nothing is reached", "refused"),
    Behaviour("network.unix-socket", "Unix sockets are refused", "refused"),
    Behaviour("git.commit", "A commit works", "open"),
    Behaviour("arguments.intact", "Every argument arrives as it was", "open"),
    Behaviour("status.own", "The command's exit status comes back", "7"),
    Behaviour("status.signal", "A signal comes back as 128 and its number", "143"),
    Behaviour("leftovers.none", "Nothing is left in the workspace", "open"),
    Behaviour("proof.refuses", "An open sandbox is refused before the command starts", "refused"),
)


# Given an instance, a workspace and the hosts to allow.
Rules = Callable[[Instance, Path, tuple[str, ...]], Policy]


@dataclass(frozen=True)
class Bench:
    """What the behaviours are tried with.

    Attributes:
        sandbox: The adapter.
        paths: homeroom's directories; trials make and wipe instances there.
        node: The Node.js that runs the script inside.
        rules: Gives the policy of a room, as a plan makes it.
        secrets: Files that exist, are not empty, and must not be readable, by behaviour.
        search_path: The PATH inside.
    """

    sandbox: Sandbox
    paths: Paths
    node: Path
    rules: Rules
    secrets: Mapping[str, Path]
    search_path: str


def observe(bench: Bench, scratch: Path) -> Mapping[str, str]:
    """Try every behaviour.

    Args:
        bench: What to try with.
        scratch: An empty directory outside of what the policy denies.

    Returns:
        For each behaviour's name what was seen.

    Raises:
        HomeroomError: A trial could not be made.
    """
    workspace = _workspace(scratch, bench.search_path)
    before = _listing(workspace)
    seen = {**_inside(bench, scratch, workspace), **_statuses(bench, workspace)}
    seen["leftovers.none"] = "open" if _listing(workspace) == before else "refused"
    seen["proof.refuses"] = _proof(bench, workspace)
    return seen


def difference(behaviour: Behaviour, seen: Mapping[str, str]) -> str | None:
    """Tell how a behaviour is not as it must be.

    Args:
        behaviour: The statement.
        seen: What was observed of all.

    Returns:
        One sentence, or None when it holds.
    """
    found = seen.get(behaviour.name) or seen.get("trial") or "not tried"
    if found == behaviour.expected:
        return None
    return f"{behaviour.title}: {found}, not {behaviour.expected}"


def differences(seen: Mapping[str, str]) -> list[str]:
    """Name the behaviours that are not as they must be.

    Args:
        seen: As observed.

    Returns:
        One sentence each, empty when all hold.
    """
    found = (difference(behaviour, seen) for behaviour in BEHAVIOURS)
    return [sentence for sentence in found if sentence is not None]


def _workspace(scratch: Path, search_path: str) -> Path:
    workspace = scratch / "work space"
    workspace.mkdir()
    (workspace / "file").write_text("readable\n")
    git = ["git", "-C", str(workspace), "-c", "init.defaultBranch=main"]
    for words in (
        ["init", "--quiet"],
        ["config", "user.name", "Trial"],
        ["config", "user.email", "trial@localhost"],
    ):
        subprocess.run(
            [*git, *words],
            check=True,
            capture_output=True,
            env={"PATH": search_path, "HOME": str(scratch), "GIT_CONFIG_NOSYSTEM": "1"},
        )
    (workspace / ".git" / "hooks").mkdir(exist_ok=True)
    return workspace


def _listing(workspace: Path) -> list[str]:
    return sorted(os.listdir(workspace))


def _inside(bench: Bench, scratch: Path, workspace: Path) -> dict[str, str]:
    """Make one trial of everything that a process inside can try."""
    with (
        trial.scratch_instance(bench.paths) as other,
        trial.scratch_instance(bench.paths) as instance,
        _server() as allowed,
        _server() as forbidden,
    ):
        (other.home / "secret").write_text("another room's\n")
        script = instance.runtime / "behaviour.mjs"
        script.write_bytes(resources.files(__package__).joinpath("behaviour.mjs").read_bytes())
        plan = {
            "read": {
                "read.workspace": str(workspace / "file"),
                "read.canary": str(instance.canary),
                "read.other-room": str(other.home / "secret"),
                **{name: str(path) for name, path in bench.secrets.items()},
            },
            "write": {
                "write.outside": str(scratch / "outside"),
                "write.runtime": str(instance.runtime / "settings.json"),
                "write.git-hooks": str(workspace / ".git" / "hooks" / "pre-commit"),
            },
            "own": {
                "write.workspace": str(workspace),
                "write.home": str(instance.home),
                "write.tmp": str(instance.tmp),
            },
            "allowed": f"http://{allowed}/",
            "other": f"http://{forbidden}/",
            "socket": str(instance.tmp / "s"),
            "commit": True,
            "arguments": {"arguments.intact": list(HOSTILE_WORDS)},
        }
        argv = (str(bench.node), str(script), json.dumps(plan), *HOSTILE_WORDS)
        inside = trial.command_line(
            argv, workspace, instance, {"PATH": bench.search_path}, ("NO_PROXY", "no_proxy")
        )
        policy = bench.rules(instance, workspace, (allowed,))
        result = trial.run(bench.sandbox, instance, policy, inside, limit=_LIMIT)
    try:
        seen: dict[str, str] = json.loads(result.output)
    except ValueError:
        said = result.errors.strip().splitlines()[-1:] or [result.said]
        return {"trial": f"status {result.status}: {said[0]}"}
    return seen


@contextlib.contextmanager
def _server() -> Iterator[str]:
    """Serve an empty answer on loopback; yield ``address:port``."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_words: object) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def _statuses(bench: Bench, workspace: Path) -> dict[str, str]:
    scripts = {"status.own": "exit 7", "status.signal": "kill -TERM $$; sleep 5"}
    seen: dict[str, str] = {}
    for name, script in scripts.items():
        with trial.scratch_instance(bench.paths) as instance:
            inside = trial.command_line(
                ("/bin/sh", "-c", script), workspace, instance, {"PATH": bench.search_path}
            )
            policy = bench.rules(instance, workspace, ())
            result = trial.run(bench.sandbox, instance, policy, inside, limit=_LIMIT)
            seen[name] = str(result.status) if result.started else f"not started: {result.said}"
    return seen


def _proof(bench: Bench, workspace: Path) -> str:
    """See that the prelude refuses when a rule is missing: a check that cannot fail is none."""
    with trial.scratch_instance(bench.paths) as instance:
        inside = trial.command_line(
            ("/bin/sh", "-c", "exit 0"), workspace, instance, {"PATH": bench.search_path}
        )
        policy = bench.rules(instance, workspace, ())
        private = (bench.paths.state, bench.paths.temp)
        kept = [path for path in policy.deny_read if not _holds(path, private)]
        opened = replace(policy, deny_read=tuple(kept))
        result = trial.run(bench.sandbox, instance, opened, inside, limit=_LIMIT)
    return "refused" if result.said.startswith("refused") else "open"


def _holds(path: Path, others: tuple[Path, ...]) -> bool:
    return any(other.is_relative_to(path) for other in others)
