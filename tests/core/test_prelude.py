"""The prelude: it refuses a sandbox that is not shut, and hands everything on as it was.

It runs here in a bubblewrap of the test's own, so that each wall can be left out.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# What the agent was given, written down byte for byte.
_AGENT = """
import json, os, socket, sys
def connects():
    try:
        socket.create_connection(("127.0.0.1", 3128), 1).close()
    except OSError:
        return False
    return True
seen = {
    "argv": [os.fsencode(word).hex() for word in sys.argv[1:]],
    "environment": {name.hex(): value.hex() for name, value in os.environb.items()},
    "directory": os.fsencode(os.getcwd()).hex(),
    "stdin": sys.stdin.read(),
    "connects": connects(),
}
print(json.dumps(seen))
"""
_LATE_PROXY = """
import os, socket, subprocess, sys, threading, time
def listen():
    time.sleep(0.4)
    server = socket.create_server(("127.0.0.1", 3128))
    while True:
        server.accept()[0].close()
threading.Thread(target=listen, daemon=True).start()
sys.exit(subprocess.run(sys.argv[1:]).returncode)
"""
_LOOPBACK = "    lo:       0       0    0    0    0     0          0         0"
_HEADER = (
    "Inter-|   Receive                            |  Transmit\n"
    " face |bytes    packets errs drop fifo frame |bytes    packets\n"
)


@dataclass
class Ended:
    """How a prelude ended: its status, what it said last, and what the agent was given."""

    status: int
    said: str
    agent: dict[str, Any] | None
    stderr: str


@dataclass
class Stage:
    """Lists as homeroom writes them, and the walls around a prelude that reads them."""

    base: Path
    lists: dict[str, list[bytes]] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=dict)
    walls: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    missing: str | None = None

    def __post_init__(self) -> None:
        for name in ("runtime", "control", "denied", "work"):
            (self.base / name).mkdir()
        (self.base / "denied/canary").write_text("sing\n")
        with resources.as_file(resources.files("homeroom.sandbox") / "prelude.sh") as script:
            shutil.copy(script, self.base / "runtime/prelude.sh")
        self.lists = {
            "unreadable": [os.fsencode(self.base / "denied/canary")],
            "unwritable": [os.fsencode(self.base / "runtime/probe")],
            "unset": [],
            "environment": [b"PATH=/usr/bin:/bin"],
            "workspace": [os.fsencode(self.base / "work")],
            "argv": self.agent(),
        }
        self.environ = {"PATH": "/usr/bin:/bin"}
        self.walls = ["--unshare-net", "--proc", "/proc", "--tmpfs", str(self.base / "denied")]

    def agent(self, *arguments: bytes) -> list[bytes]:
        return [*map(os.fsencode, (sys.executable, "-I", "-S", "-c", _AGENT)), *arguments]

    def without_wall(self, *wall: str) -> None:
        at = self.walls.index(wall[0])
        assert self.walls[at : at + len(wall)] == list(wall)
        del self.walls[at : at + len(wall)]

    def run(self, mode: str = "exec", stdin: str = "") -> Ended:
        runtime, control = self.base / "runtime", self.base / "control"
        for name, entries in self.lists.items():
            if name != self.missing:
                (runtime / name).write_bytes(b"".join(entry + b"\0" for entry in entries))
        said = control / "said"
        said.write_bytes(b"")
        bash = shutil.which("bash")
        assert bash
        done = subprocess.run(
            [
                *("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--die-with-parent"),
                *("--bind", str(control), str(control), *self.walls, "--"),
                *(
                    *self.before,
                    bash,
                    str(runtime / "prelude.sh"),
                    str(runtime),
                    str(control),
                    mode,
                ),
            ],
            env=self.environ,
            input=stdin.encode(),
            capture_output=True,
            check=False,
            timeout=60,
        )
        return Ended(
            done.returncode,
            said.read_text(errors="surrogateescape").rstrip("\n"),
            json.loads(done.stdout) if done.stdout else None,
            done.stderr.decode(errors="replace"),
        )


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def started(ended: Ended) -> dict[str, Any]:
    assert ended.stderr == ""
    assert ended.status == 0
    assert ended.said.partition(" ")[0] == "started"
    assert ended.agent is not None
    return ended.agent


def refused(ended: Ended, why: str) -> None:
    assert ended.said.startswith("refused ")
    assert why in ended.said
    assert ended.status == 1
    assert ended.agent is None, "the agent was started"


@pytest.mark.parametrize("mode", ["exec", "job"])
def test_in_a_sandbox_that_is_shut_the_agent_starts(stage: Stage, mode: str) -> None:
    seen = started(stage.run(mode, stdin="asked"))
    assert seen["stdin"] == "asked"
    assert bytes.fromhex(seen["directory"]) == os.fsencode(stage.base / "work")


@pytest.mark.parametrize(
    "content", [b"s", b"\n", b" \n", b"\\\n", b"\0x", b"\xff\xfe", b"x" * 100_000]
)
def test_a_canary_that_can_be_read_is_a_refusal(stage: Stage, content: bytes) -> None:
    (stage.base / "denied/canary").write_bytes(content)
    stage.without_wall("--tmpfs", str(stage.base / "denied"))
    refused(stage.run(), f"it can read {stage.base}/denied/canary")


def test_any_other_secret_that_can_be_read_is_a_refusal(stage: Stage) -> None:
    (stage.base / "id $(touch x) rsa").write_text("secret")
    stage.lists["unreadable"].append(os.fsencode(stage.base / "id $(touch x) rsa"))
    refused(stage.run(), "it can read")


@pytest.mark.parametrize("at", [0, 1])
def test_a_place_that_can_be_written_is_a_refusal_and_stays_clean(stage: Stage, at: int) -> None:
    probe = stage.base / "control/probe"
    stage.lists["unwritable"].insert(at, os.fsencode(probe))
    refused(stage.run(), f"it can write {probe}")
    assert not probe.exists()


@pytest.mark.parametrize(
    "name", ["unreadable", "unwritable", "unset", "environment", "workspace", "argv"]
)
def test_a_list_that_is_missing_is_a_refusal(stage: Stage, name: str) -> None:
    stage.missing = name
    refused(stage.run(), f'the list "{name}" cannot be read')


@pytest.mark.parametrize(
    ("name", "why"),
    [("unreadable", "there is no canary to try"), ("unwritable", "no place to try a write at")],
)
def test_a_proof_of_nothing_is_a_refusal(stage: Stage, name: str, why: str) -> None:
    stage.lists[name] = []
    refused(stage.run(), why)


def with_devices(stage: Stage, text: str | None) -> None:
    """Show the prelude other network devices than there are."""
    stage.walls = ["--unshare-net", "--tmpfs", "/proc", "--tmpfs", str(stage.base / "denied")]
    if text is not None:
        (stage.base / "devices").write_text(text)
        stage.walls += ["--ro-bind", str(stage.base / "devices"), "/proc/net/dev"]


def test_loopback_alone_is_no_network(stage: Stage) -> None:
    with_devices(stage, f"{_HEADER}{_LOOPBACK}\n")
    assert started(stage.run())


@pytest.mark.parametrize("name", ["eth0", "wlp3s0", "tun0", "lo0", "lo2", "xlo", "l", "docker0"])
def test_any_other_network_device_is_a_refusal(stage: Stage, name: str) -> None:
    device = _LOOPBACK.replace("    lo:", f"{name:>6}:")
    for lines in ([_LOOPBACK, device], [device, _LOOPBACK], [device]):
        with_devices(stage, _HEADER + "\n".join(lines) + "\n")
        refused(stage.run(), f"it has a network device:{name:>6}")


def test_devices_that_cannot_be_seen_are_a_refusal(stage: Stage) -> None:
    with_devices(stage, None)
    refused(stage.run(), "its network devices cannot be seen")


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:3128", "http://localhost:3128/", "http://user:pass@localhost:3128"]
)
def test_the_agent_waits_for_a_proxy_that_is_late(stage: Stage, url: str) -> None:
    stage.environ["HTTP_PROXY"] = url
    stage.before = [sys.executable, "-I", "-S", "-c", _LATE_PROXY]
    assert started(stage.run())["connects"] is True


def test_a_proxy_that_never_answers_is_a_refusal(stage: Stage) -> None:
    # Ten seconds pass in no time.
    (stage.base / "bin").mkdir()
    (stage.base / "bin/sleep").write_text("#!/bin/sh\n")
    (stage.base / "bin/sleep").chmod(0o755)
    stage.environ |= {
        "HTTP_PROXY": "http://localhost:3128",
        "PATH": f"{stage.base}/bin:/usr/bin:/bin",
    }
    refused(stage.run(), "its proxy does not answer on port 3128")


def variables(seen: dict[str, Any]) -> dict[bytes, bytes]:
    return {
        bytes.fromhex(name): bytes.fromhex(value) for name, value in seen["environment"].items()
    }


HOSTILE = [
    b"",
    b" ",
    b"a b",
    b"'",
    b'"',
    b"\\",
    b"\\n",
    b"\n",
    b"a\nb\n\n",
    b"\t\r\n ",
    b"$HOME $(touch x) `touch x` ${x}",
    b"a;echo INJ",
    b"*",
    b"~",
    b"!!",
    b"--",
    b"-c",
    b"--settings",
    b"a=b=c",
    "äöü-日本-🏠".encode(),
    bytes(range(1, 256)),
    b"\x01\x7f\x01\x01",
    b"\xff\xfe",
    b"x" * 100_000,
    b"y" * 100_000,
]
# What a script might call its own variables; these are the user's to name as well.
COMMON = [
    *("agent", "control", "entries", "entry", "i", "line", "mode", "name", "pair", "path"),
    *("port", "proxy", "runtime", "status", "tries", "x"),
]


@pytest.mark.parametrize("mode", ["exec", "job"])
def test_every_argument_arrives_as_it_was(stage: Stage, mode: str) -> None:
    stage.lists["argv"] = stage.agent(*HOSTILE)
    seen = started(stage.run(mode))
    assert [bytes.fromhex(word) for word in seen["argv"]] == HOSTILE


@pytest.mark.parametrize("mode", ["exec", "job"])
def test_every_variable_arrives_as_it_was(stage: Stage, mode: str) -> None:
    given_values = {b"V%d" % number: value for number, value in enumerate(HOSTILE)}
    given_values |= {name.encode(): b"value of " + name.encode() for name in COMMON}
    given_values |= {b"PATH": b"/usr/bin:/bin", b"HOME": b"/room", b"TMPDIR": b"/room/tmp"}
    stage.lists["environment"] = [name + b"=" + value for name, value in given_values.items()]
    found = variables(started(stage.run(mode)))
    assert {name: found.get(name) for name in given_values} == given_values
    # LC_CTYPE is this agent's own: Python sets it where there is no locale.
    assert set(found) - set(given_values) <= {b"PWD", b"SHLVL", b"_", b"LC_CTYPE"}


word = st.binary(max_size=30).filter(lambda text: b"\0" not in text)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    arguments=st.lists(word, max_size=5),
    values=st.dictionaries(st.from_regex(rb"V[A-Za-z0-9_]{0,5}", fullmatch=True), word, max_size=5),
)
def test_any_argument_and_any_value_arrive_as_they_were(
    stage: Stage, arguments: list[bytes], values: dict[bytes, bytes]
) -> None:
    stage.lists["argv"] = stage.agent(*arguments)
    stage.lists["environment"] = [name + b"=" + value for name, value in values.items()]
    seen = started(stage.run())
    assert [bytes.fromhex(text) for text in seen["argv"]] == arguments
    found = variables(seen)
    assert {name: found.get(name) for name in values} == values


def test_a_value_of_the_sandboxs_own_is_replaced_or_removed(stage: Stage) -> None:
    stage.environ |= {"TMPDIR": "/sandbox", "NO_PROXY": "localhost", "KEPT": "yes"}
    stage.lists["environment"].append(b"TMPDIR=/room")
    stage.lists["unset"] = [b"NO_PROXY", b"NEVER_THERE"]
    found = variables(started(stage.run()))
    assert found[b"TMPDIR"] == b"/room"
    assert b"NO_PROXY" not in found
    assert found[b"KEPT"] == b"yes"


@pytest.mark.parametrize(
    "name", [b"a b", b"-rf", b"new\nline", b"$HOME", b"'\"", b"\xc3\xa4", b"x" * 200]
)
def test_the_agent_starts_in_its_workspace(stage: Stage, name: bytes) -> None:
    workspace = os.path.join(os.fsencode(stage.base), name)
    os.mkdir(workspace)
    stage.lists["workspace"] = [workspace]
    seen = started(stage.run())
    assert bytes.fromhex(seen["directory"]) == workspace
    assert variables(seen)[b"PWD"] == workspace
    assert b"OLDPWD" not in variables(seen)


def test_a_workspace_that_cannot_be_entered_is_a_refusal(stage: Stage) -> None:
    stage.lists["workspace"] = [os.fsencode(stage.base / "gone")]
    refused(stage.run(), "it cannot enter")


@pytest.mark.parametrize("mode", ["exec", "job"])
@pytest.mark.parametrize(
    ("code", "status"), [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143), ("kill -9 $$", 137)]
)
def test_the_agents_status_is_returned(stage: Stage, mode: str, code: str, status: int) -> None:
    stage.lists["argv"] = [b"/bin/sh", b"-c", code.encode()]
    ended = stage.run(mode)
    assert ended.status == status
    assert ended.said.startswith("started ")


@pytest.mark.parametrize("mode", ["exec", "job"])
def test_an_agent_that_cannot_be_executed_ends_as_in_a_shell(stage: Stage, mode: str) -> None:
    stage.lists["argv"] = [b"/nothing/there"]
    assert stage.run(mode).status == 127
    (stage.base / "work/agent").write_text("#!/bin/sh\n")
    stage.lists["argv"] = [os.fsencode(stage.base / "work/agent")]
    assert stage.run(mode).status == 126
