"""A provider's server on this machine, behind a proxy and a certificate authority of its own."""

import contextlib
import json
import re
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import trustme

_END = b"\r\n\r\n"


class Vendor:
    """Answers every request for any host with one status, and remembers the requests.

    Args:
        directory: Where the authority's certificate is put.

    Attributes:
        certificate: The authority's, in PEM.
        url: The proxy's address.
        status: What is answered.
        headers: More of the answer.
        answers: JSON for paths that are answered with 200, whatever the status.
        requests: What was asked, each with its head.
        hosts: Whom it was asked of.
    """

    def __init__(self, directory: Path) -> None:
        self._authority = trustme.CA()
        self.certificate = directory / "authority.pem"
        self._authority.cert_pem.write_to_path(str(self.certificate))
        self.status = 200
        self.headers = ""
        self.answers: dict[str, object] = {}
        self.requests: list[str] = []
        self.hosts: list[str] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self._serve)
        thread.start()
        try:
            yield
        finally:
            # What waits for a caller wakes up only when one comes.
            listening = self._socket.getsockname()
            self._socket.settimeout(0)
            with contextlib.suppress(OSError), socket.create_connection(listening):
                pass
            thread.join()
            self._socket.close()

    def _serve(self) -> None:
        self._socket.settimeout(None)
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                if not self._answer(connection):
                    return

    def _answer(self, connection: socket.socket) -> bool:
        connection.settimeout(10)
        asked = re.match(r"CONNECT ([^:]+):443 ", _head(connection))
        if asked is None:
            return False
        self.hosts.append(asked[1])
        connection.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._authority.issue_cert(asked[1]).configure_cert(context)
        with context.wrap_socket(connection, server_side=True) as secured:
            head = _head(secured)
            self.requests.append(head)
            secured.sendall(self._said(head).encode())
        return True

    def _said(self, head: str) -> str:
        path = head.split(" ")[1].partition("?")[0]
        body = json.dumps(self.answers[path]) if path in self.answers else ""
        status = 200 if body else self.status
        lines = (
            f"HTTP/1.1 {status} Said",
            f"Content-Length: {len(body)}",
            "Content-Type: application/json",
            "Connection: close",
        )
        return "\r\n".join(lines) + f"\r\n{self.headers}\r\n{body}"


def _head(connection: socket.socket) -> str:
    """Read a request, with its body; only the head is of interest."""
    received = b""
    while _END not in received:
        part = connection.recv(65536)
        if not part:
            break
        received += part
    head, _, body = received.partition(_END)
    found = re.search(rb"content-length: *([0-9]+)", head, re.IGNORECASE)
    left = int(found[1]) - len(body) if found else 0
    while left > 0 and (part := connection.recv(65536)):
        left -= len(part)
    return head.decode()
