"""A model server on this machine: the toolchain's aimock, with answers given as data."""

import json
import re
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from homeroom.toolchain.store import Toolchain

Fixture = Mapping[str, Any]

_LISTENING = re.compile(r"aimock server listening on (http://127\.0\.0\.1:\d+)")


def says(text: str, **match: object) -> Fixture:
    """Make a fixture that answers with a text.

    Args:
        text: The answer.
        match: aimock's own keys (``userMessage``, ``hasToolResult``, ...), all of which
            must fit; without any it answers every request. The first fixture that
            fits a request wins.
    """
    return {"match": match, "response": {"content": text}}


def calls(tool: str, arguments: Mapping[str, object], **match: object) -> Fixture:
    """Make a fixture that answers with one call of a tool.

    Args:
        tool: Its name; requests that do not offer it (an agent's own side requests for
            a title, say) do not match.
        arguments: The call's arguments.
        match: As for ``says``.
    """
    call = {"name": tool, "arguments": dict(arguments)}
    return {"match": {"toolName": tool, **match}, "response": {"toolCalls": [call]}}


def calls_then_says(tool: str, arguments: Mapping[str, object], text: str) -> list[Fixture]:
    """Make the fixtures of a whole turn: one call of a tool, then a text on its result."""
    return [says(text, hasToolResult=True), calls(tool, arguments, hasToolResult=False)]


class ModelServer(msgspec.Struct, frozen=True):
    """A server that answers, and remembers what it was asked.

    Attributes:
        url: Its base, ``http://127.0.0.1:PORT`` without a path.
        log: What it printed.
    """

    url: str
    log: Path

    @property
    def port(self) -> int:
        """The port on loopback."""
        return int(self.url.rpartition(":")[2])

    def journal(self, **filters: str | int) -> list[dict[str, Any]]:
        """Read the requests so far, oldest first.

        Args:
            filters: aimock's own: ``path`` (a part of it), ``method``, ``status``, ...

        Returns:
            One dictionary a request, with ``method``, ``path``, ``headers``, ``body`` and
            ``response``. The body is in the shape of a chat completion, whatever the API.
        """
        url = f"{self.url}/__aimock/journal?{urllib.parse.urlencode(filters)}"
        # The proxies of the caller's environment have no say over a server on loopback.
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(url, timeout=10) as response:
            entries: list[dict[str, Any]] = json.load(response)
        return entries


@contextmanager
def model_server(
    toolchain: Toolchain, fixtures: Sequence[Fixture], *options: str, timeout: float = 20
) -> Iterator[ModelServer]:
    """Run a model server for the time of a block.

    Args:
        toolchain: An installed one.
        fixtures: What it answers.
        options: More of aimock's own command-line options.
        timeout: Seconds it may take to start.
    """
    node, script = (toolchain.tools[name].path for name in ("node", "model-server"))
    with tempfile.TemporaryDirectory(prefix="hr-model-", dir="/tmp") as name:
        directory = Path(name)
        answers, log = directory / "fixtures.json", directory / "log"
        answers.write_text(json.dumps({"fixtures": list(fixtures)}))
        with log.open("w") as output:
            server = subprocess.Popen(
                [node, script, "-p", "0", "-f", answers, "--validate-on-load", *options],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={},
                cwd=directory,
            )
        try:
            yield ModelServer(_wait_for_url(server, log, timeout), log)
        finally:
            # It has nothing to save, and a graceful end waits for idle connections.
            server.kill()
            server.wait()


def _wait_for_url(server: subprocess.Popen[bytes], log: Path, timeout: float) -> str:
    deadline = time.monotonic() + timeout
    while True:
        printed = log.read_text()
        if found := _LISTENING.search(printed):
            return found[1]
        ended = server.poll() is not None
        assert not ended, f"the model server ended with {server.returncode}:\n{printed}"
        assert time.monotonic() < deadline, f"no model server in {timeout:g} s:\n{printed}"
        time.sleep(0.02)
