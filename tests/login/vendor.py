"""A provider's server on this machine, behind a proxy and a certificate authority of its own."""

import contextlib
import re
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import trustme

# The ends of a request's head; what is asked for has no body.
_END = b"\r\n\r\n"


class Vendor:
    """Answers every request for any host with one status, and remembers the requests.

    Args:
        directory: Where the authority's certificate is put.
    """

    def __init__(self, directory: Path) -> None:
        self._authority = trustme.CA()
        self.certificate = directory / "authority.pem"
        self._authority.cert_pem.write_to_path(str(self.certificate))
        self.status = 200
        self.headers = ""
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
            self.requests.append(_head(secured))
            answer = f"HTTP/1.1 {self.status} Said\r\nContent-Length: 0\r\n{self.headers}\r\n"
            secured.sendall(answer.encode())
        return True


def _head(connection: socket.socket) -> str:
    received = b""
    while _END not in received:
        part = connection.recv(65536)
        if not part:
            break
        received += part
    return received.decode()
