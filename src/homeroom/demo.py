"""A model server on loopback that answers in the vendor's place."""

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector

from homeroom.data import DIRECTORY
from homeroom.errors import ToolError
from homeroom.toolchain.store import Toolchain

_START_LIMIT = 20.0
_LISTENING = re.compile(rb"listening on (http://127\.0\.0\.1:[0-9]+)")


@contextlib.contextmanager
def model_server(toolchain: Toolchain, fixtures: Path | None = None) -> Iterator[str]:
    """Run the toolchain's model server while the context is entered.

    The server ends when its standard input does, so that it also ends when this process
    is killed.

    Args:
        toolchain: Holds Node.js and the server.
        fixtures: What it answers, in its own format; the demo's answers when None.

    Yields:
        Its base URL.

    Raises:
        ToolError: It did not start.
    """
    with contextlib.ExitStack() as stack:
        guard = DIRECTORY / "end-with-parent.mjs"
        if fixtures is None:
            fixtures = DIRECTORY / "demo-answers.json"
        tools = toolchain.tools
        server = subprocess.Popen(
            [
                str(tools["node"].path),
                "--import",
                guard.as_uri(),
                str(tools["model-server"].path),
                "--port",
                "0",
                "--fixtures",
                str(fixtures),
            ],
            env={"PATH": os.defpath, "HOME": "/nonexistent"},
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        stack.callback(_end, server)
        yield _address(server)


def _end(server: "subprocess.Popen[bytes]") -> None:
    server.kill()
    server.wait()
    for stream in (server.stdin, server.stdout):
        if stream is not None:
            stream.close()


def _address(server: "subprocess.Popen[bytes]") -> str:
    """Read the server's first lines until it says where it listens."""
    if server.stdout is None:
        raise ToolError("the model server has no output")
    said = b""
    with DefaultSelector() as selector:
        selector.register(server.stdout, EVENT_READ)
        while selector.select(_START_LIMIT):
            part = os.read(server.stdout.fileno(), 65536)
            said += part
            match = _LISTENING.search(said)
            if match:
                return match[1].decode()
            if not part:
                break
    last = said.decode(errors="replace").strip().splitlines()[-1:]
    raise ToolError(
        f"the model server did not start: {last[0] if last else 'it said nothing'}",
        "run `homeroom setup` to repair the toolchain",
    )
