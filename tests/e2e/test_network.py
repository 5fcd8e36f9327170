"""What the agent's own tools can reach from a room."""

import shlex
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from homeroom.toolchain.store import Toolchain
from tests.e2e.runner import Runner
from tests.e2e.tools import attempts, outcomes, shell


class Listener:
    """Servers on this machine that nobody in a room may reach, and who came all the same."""

    def __init__(self, directory: Path) -> None:
        self.visits: list[str] = []
        visits = self.visits

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                visits.append(self.path)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._http.server_address[1]
        self.socket = directory / "socket"
        self._unix = socket.socket(socket.AF_UNIX)
        self._unix.bind(str(self.socket))
        self._unix.listen()
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._unix.accept()
            except OSError:
                return
            self.visits.append("unix")
            connection.close()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._unix.shutdown(socket.SHUT_RDWR)
        self._unix.close()


@pytest.fixture
def listener(workspace: Path) -> Iterator[Listener]:
    found = Listener(workspace)
    yield found
    found.close()


def test_only_allowed_hosts_are_reached(
    runner: Runner, toolchain: Toolchain, listener: Listener
) -> None:
    node = shlex.quote(str(toolchain.tools["node"].path))

    def fetch(url: str) -> str:
        program = f"fetch('{url}').then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))"
        return f'NODE_USE_ENV_PROXY=1 {node} -e "{program}"'

    def connect(target: str) -> str:
        program = (
            f"require('net').connect({target}, () => process.exit(0))"
            ".on('error', () => process.exit(1))"
        )
        return f'{node} -e "{program}"'

    other = f"http://127.0.0.1:{listener.port}"
    # The allowed server's own address is in the environment.
    tries = {
        "allowed": fetch("$ANTHROPIC_BASE_URL/__aimock/health"),
        "other-server": fetch(f"{other}/proxy"),
        "other-name": fetch(f"http://localhost:{listener.port}/name"),
        "the-vendor": fetch("https://api.anthropic.com/"),
        "git": f"git ls-remote {other}/git",
        "direct": f"exec 3<>/dev/tcp/127.0.0.1/{listener.port}",
        "direct-allowed": 'exec 3<>"/dev/tcp/127.0.0.1/${ANTHROPIC_BASE_URL##*:}"',
        "internet": "exec 3<>/dev/tcp/192.0.2.1/80",
        "direct-node": connect(f"{listener.port}, '127.0.0.1'"),
        "unix": connect(f"'{listener.socket}'"),
    }
    found = outcomes(shell(runner, toolchain, attempts(tries)))
    assert {name for name, succeeded in found.items() if succeeded} == {"allowed"}
    assert found.keys() == tries.keys()
    assert listener.visits == []
    # Else nothing was shown: from outside both can be reached.
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(listener.socket))
        assert client.recv(1) == b""
    assert listener.visits == ["unix"]


def test_a_host_that_the_user_allows_is_reached(
    runner: Runner, toolchain: Toolchain, listener: Listener
) -> None:
    config = runner.home.root / "config" / "config.toml"
    config.parent.mkdir(mode=0o700, parents=True)
    config.write_text(f'[network]\nallow = ["127.0.0.1:{listener.port}"]\n')
    shell(runner, toolchain, f"git ls-remote http://127.0.0.1:{listener.port}/asked")
    assert listener.visits[0].startswith("/asked/info/refs")
