"""What the tests of prelude share."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

# What the agent was given, written down byte for byte.
AGENT = """
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


LATE_PROXY = """
import os, socket, subprocess, sys, threading, time
def listen():
    time.sleep(0.4)
    server = socket.create_server(("127.0.0.1", 3128))
    while True:
        server.accept()[0].close()
threading.Thread(target=listen, daemon=True).start()
sys.exit(subprocess.run(sys.argv[1:]).returncode)
"""


LOOPBACK = "    lo:       0       0    0    0    0     0          0         0"


HEADER = (
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
    is_forsaken: bool = False

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
        return [*map(os.fsencode, (sys.executable, "-I", "-S", "-c", AGENT)), *arguments]

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
        if self.is_forsaken:
            # As a supervisor that has died leaves them.
            for name in ("said", "told"):
                os.mkfifo(control / name)
        else:
            said.write_bytes(b"")
            (control / "told").write_bytes(b"go\n")
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
            "" if self.is_forsaken else said.read_text(errors="surrogateescape").rstrip("\n"),
            json.loads(done.stdout) if done.stdout else None,
            done.stderr.decode(errors="replace"),
        )


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


def with_devices(stage: Stage, text: str | None) -> None:
    """Show the prelude other network devices than there are."""
    stage.walls = ["--unshare-net", "--tmpfs", "/proc", "--tmpfs", str(stage.base / "denied")]
    if text is not None:
        (stage.base / "devices").write_text(text)
        stage.walls += ["--ro-bind", str(stage.base / "devices"), "/proc/net/dev"]


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


word = st.binary(max_size=30).filter(lambda text: b"\0" not in text)
