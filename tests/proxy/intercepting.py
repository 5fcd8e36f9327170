"""A company's proxy: it opens TLS connections, looks inside, and closes them again.

It ends each tunnel with a certificate of its own authority. What was in it goes on to
another place of the test's choice, or to the true one by TLS.
"""

import asyncio
import base64
import contextlib
import ssl
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import trustme

_CHUNK = 65536


@dataclass
class Proxy:
    """A proxy at work.

    Attributes:
        authority: Signs its certificates.
        instead: Where connections to a host go: a port of this machine, in plain text. Hosts
            that are not named are passed on to the true ones.
        login: User and password that it asks for.
        scheme: How it is talked to: "https" means that the way to it is encrypted, too.
        port: Where it listens.
        tunnels: Hosts and ports that were asked for and let through, oldest first.
        refused: How often somebody came without the login.
    """

    authority: trustme.CA
    instead: Mapping[str, int]
    login: str | None = None
    scheme: str = "http"
    port: int = 0
    tunnels: list[str] = field(default_factory=list)
    refused: int = 0

    def url(self, login: str = "") -> str:
        return f"{self.scheme}://{login and f'{login}@'}localhost:{self.port}"

    def hosts(self) -> set[str]:
        return {tunnel.rpartition(":")[0] for tunnel in self.tunnels}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._tunnel(reader, writer)
        except (OSError, EOFError, asyncio.CancelledError):
            pass  # The other end has gone, or trusts nobody here: it says so itself.
        finally:
            writer.close()

    async def _tunnel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ")
        if self.login is not None and not self._is_known(head[1:]):
            self.refused += 1
            writer.write(
                b"HTTP/1.1 407 Proxy Authentication Required\r\n"
                b'Proxy-Authenticate: Basic realm="test"\r\nContent-Length: 0\r\n\r\n'
            )
            return
        if method != "CONNECT":
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            return
        self.tunnels.append(target)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        host = target.rpartition(":")[0]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.authority.issue_cert(host).configure_cert(context)
        await writer.start_tls(context)
        onward = await self._connect(host, int(target.rpartition(":")[2]))
        with contextlib.closing(onward[1]):
            ways = (_pump(reader, onward[1]), _pump(onward[0], writer))
            await asyncio.wait(
                [asyncio.ensure_future(way) for way in ways],
                return_when=asyncio.FIRST_COMPLETED,
            )

    def _is_known(self, headers: list[str]) -> bool:
        expected = base64.b64encode((self.login or "").encode()).decode()
        return any(
            header.lower().startswith("proxy-authorization:") and header.endswith(f" {expected}")
            for header in headers
        )

    async def _connect(
        self, host: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if host in self.instead:
            return await asyncio.open_connection("127.0.0.1", self.instead[host])
        return await asyncio.open_connection(host, port, ssl=ssl.create_default_context())


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while part := await reader.read(_CHUNK):
            writer.write(part)
            await writer.drain()


@contextlib.contextmanager
def intercepting_proxy(
    authority: trustme.CA,
    instead: Mapping[str, int],
    login: str | None = None,
    scheme: str = "http",
) -> Iterator[Proxy]:
    """Run a proxy for the time of a block, on a port of this machine.

    Args:
        authority: Signs its certificates.
        instead: Ports of this machine, by the host that they stand in for.
        login: ``user:password``, if it asks for one.
        scheme: "https" encrypts the way to it.
    """
    proxy = Proxy(authority, instead, login, scheme)
    secure = None
    if scheme == "https":
        secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("localhost").configure_cert(secure)
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(proxy.serve, "127.0.0.1", 0, ssl=secure))
    proxy.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        asyncio.run_coroutine_threadsafe(_end(server), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


async def _end(server: asyncio.Server) -> None:
    server.close()
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
