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
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from homeroom import process
from homeroom.home import Instance
from homeroom.paths import Paths
from homeroom.policy import Policy
from homeroom.sandbox import Sandbox, trial

_LIMIT = 30.0
# A process that is being killed needs a moment for it.
_MOMENT = 2.0
_POLL = 0.02
# What shells, JSON and option parsers would spoil.
HOSTILE_WORDS = ("a b", "q\"u'o", "$HOME `id`", "-c", "--", "", "tab\tnew\nline", "ü✓", "*")


class Behaviour(msgspec.Struct, frozen=True):
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
    Behaviour("command.starts", "A command starts, once its proof has succeeded", "open"),
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
    Behaviour("leftovers.processes", "What the command started ends with it", "open"),
    Behaviour("proof.refuses", "An open sandbox is refused before the command starts", "refused"),
)
# The same of what a user's machine may hold; a bench has a file for each that it has.
SECRETS = (
    Behaviour("read.ssh", "SSH keys cannot be read", "refused"),
    Behaviour("read.cloud-keys", "Cloud credentials cannot be read", "refused"),
    Behaviour("read.tokens", "Stored tokens cannot be read", "refused"),
    Behaviour("read.master-store", "The agents' own credentials cannot be read", "refused"),
    Behaviour("read.vault", "homeroom's vault cannot be read", "refused"),
    Behaviour("read.state", "homeroom's records cannot be read", "refused"),
)

# Given an instance, a workspace and the hosts to allow.
Rules = Callable[[Instance, Path, tuple[str, ...]], Policy]


class Bench(msgspec.Struct, frozen=True):
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
    workspace = _workspace(scratch / "work space", bench.search_path)
    # Another one for the rest: what happens there is none of the first one's leftovers.
    other = _workspace(scratch / "other", bench.search_path)
    before = _listing(workspace)
    with ThreadPoolExecutor() as pool:
        trials = [
            pool.submit(_inside, bench, scratch, workspace),
            pool.submit(_own_status, bench, other),
            pool.submit(_signal, bench, other),
            pool.submit(_proof, bench, other),
        ]
    seen = {name: what for each in trials for name, what in each.result().items()}
    seen["leftovers.none"] = "open" if _listing(workspace) == before else "refused"
    return seen


def difference(behaviour: Behaviour, seen: Mapping[str, str]) -> str | None:
    """Tell how a behaviour is not as it must be.

    Args:
        behaviour: The statement.
        seen: What was observed of all.

    Returns:
        One sentence, or None when it holds.
    """
    found = seen.get(behaviour.name, "not tried")
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


def _workspace(workspace: Path, search_path: str) -> Path:
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
            env={"PATH": search_path, "HOME": str(workspace), "GIT_CONFIG_NOSYSTEM": "1"},
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
        script.write_bytes(Path(__file__).with_name("behaviour.mjs").read_bytes())
        plan = {
            "read": {
                "read.workspace": str(workspace / "file"),
                "read.canary": str(instance.canary),
                "read.other-room": str(other.home / "secret"),
                **{name: str(path) for name, path in bench.secrets.items()},
            },
            "write": {
                "write.outside": str(scratch / "outside"),
                "write.runtime": str(instance.runtime / "prelude.sh"),
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
        return {"command.starts": f"status {result.status}: {_reason(result)}"}
    return {"command.starts": "open", **seen}


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


def _run(bench: Bench, workspace: Path, instance: Instance, script: str) -> trial.Trial:
    inside = trial.command_line(
        ("/bin/sh", "-c", script), workspace, instance, {"PATH": bench.search_path}
    )
    policy = bench.rules(instance, workspace, ())
    return trial.run(bench.sandbox, instance, policy, inside, limit=_LIMIT)


def _reason(result: trial.Trial) -> str:
    """Tell why nothing ran: the prelude's own word is the reason, the sandbox's the next best."""
    said = [result.said] if result.said.startswith("refused") else []
    said += result.errors.strip().splitlines()[-1:]
    return " ".join(said) or f"silence, status {result.status}"


def _status(result: trial.Trial) -> str:
    return str(result.status) if result.started else f"not started: {_reason(result)}"


def _own_status(bench: Bench, workspace: Path) -> dict[str, str]:
    """Leave with a status of its own, and a process in a session of its own behind."""
    script = "(setsid sleep 300 </dev/null >/dev/null 2>&1 &) ; exit 7"
    with trial.scratch_instance(bench.paths) as instance:
        status = _status(_run(bench, workspace, instance, script))
        deadline = time.monotonic() + _MOMENT
        while (left := list(process.members(instance.run_id))) and time.monotonic() < deadline:
            time.sleep(_POLL)
    return {"status.own": status, "leftovers.processes": "refused" if left else "open"}


def _signal(bench: Bench, workspace: Path) -> dict[str, str]:
    with trial.scratch_instance(bench.paths) as instance:
        result = _run(bench, workspace, instance, "kill -TERM $$; sleep 5")
    return {"status.signal": _status(result)}


def _proof(bench: Bench, workspace: Path) -> dict[str, str]:
    """See that the prelude refuses when a rule is missing: a check that cannot fail is none."""
    with trial.scratch_instance(bench.paths) as instance:
        inside = trial.command_line(
            ("/bin/sh", "-c", "exit 0"), workspace, instance, {"PATH": bench.search_path}
        )
        policy = bench.rules(instance, workspace, ())
        private = (bench.paths.state, bench.paths.temp)
        kept = [path for path in policy.deny_read if not _holds(path, private)]
        opened = msgspec.structs.replace(policy, deny_read=tuple(kept))
        result = trial.run(bench.sandbox, instance, opened, inside, limit=_LIMIT)
    refused = not result.started and result.said.startswith("refused")
    return {"proof.refuses": "refused" if refused else "open"}


def _holds(path: Path, others: tuple[Path, ...]) -> bool:
    return any(other.is_relative_to(path) for other in others)
