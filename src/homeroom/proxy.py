"""The caller's own HTTP proxy: what leaves a room goes on through it.

The room itself never sees it. Its address may hold a password, so that it is handed to the
sandbox's own process in a file that the room cannot read, and is shown masked.
"""

import os
import re
from collections.abc import Mapping

import msgspec

from homeroom.credential.secret import MASK, Secret
from homeroom.errors import ConfigError

# Everything up to the last "@" is the login: many a password holds one.
_ADDRESS = re.compile(
    r"(?:(?P<scheme>[a-z][a-z0-9+.-]*)://)?(?:(?P<login>.*)@)?"
    r"(?P<host>[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?/?",
    re.IGNORECASE | re.DOTALL,
)
_LAST_PORT = 65535


class Address(msgspec.Struct, frozen=True):
    """Where a proxy is.

    Attributes:
        scheme: How it is talked to, "http" or "https".
        place: Its host, and its port where one was given.
        login: User and password, percent-encoded.
    """

    scheme: str
    place: str
    login: Secret | None = None

    def __str__(self) -> str:
        """Write it for people: the login is masked."""
        return f"{self.scheme}://{f'{MASK}@' if self.login else ''}{self.place}"

    def reveal(self) -> str:
        """Return the whole address, to be written into a private file and nowhere else."""
        return f"{self.scheme}://{f'{self.login.reveal()}@' if self.login else ''}{self.place}"


class Upstream(msgspec.Struct, frozen=True):
    """The proxies of an environment.

    Attributes:
        http: For plain HTTP, or None for none.
        https: For everything else.
        exempt: Hosts that are reached without, separated by commas.
    """

    http: Address | None
    https: Address
    exempt: str = ""


def find(environ: Mapping[str, str]) -> Upstream | None:
    """Read ``HTTPS_PROXY``, ``HTTP_PROXY``, ``ALL_PROXY`` and ``NO_PROXY``, in either case.

    Args:
        environ: The caller's environment.

    Returns:
        The proxies, or None where there are none. As with srt and the agents themselves,
        the one for plain HTTP also serves HTTPS when that has none of its own.

    Raises:
        ConfigError: One is not the address of an HTTP proxy. To go round a proxy that
            somebody set up is never the answer.
    """
    http = _address(environ, "HTTP_PROXY") or _address(environ, "ALL_PROXY")
    https = _address(environ, "HTTPS_PROXY") or _address(environ, "ALL_PROXY") or http
    if https is None:
        return None
    exempt = re.split(r"[\s,]+", _value(environ, "NO_PROXY")[1])
    return Upstream(http, https, ",".join(filter(None, exempt)))


def _value(environ: Mapping[str, str], name: str) -> tuple[str, str]:
    """Give a variable and its value; the small letters win, as with curl and Python."""
    for spelling in (name.lower(), name):
        if value := environ.get(spelling, "").strip():
            return spelling, value
    return name, ""


def _address(environ: Mapping[str, str], variable: str) -> Address | None:
    name, value = _value(environ, variable)
    if not value:
        return None
    found = _ADDRESS.fullmatch(value)
    scheme = (found["scheme"] or "http").lower() if found else ""
    port = int(found["port"] or 1) if found else 0
    if found is None or scheme not in ("http", "https") or not 0 < port <= _LAST_PORT:
        # Not a word of the value: it may hold a password anywhere.
        raise ConfigError(
            f"{name} is not the address of an HTTP proxy",
            "write http://HOST:PORT, or unset it; see docs/how-to/behind-a-proxy.md",
        )
    place = found["host"] + (f":{port}" if found["port"] else "")
    return Address(scheme, place, Secret(_encoded(found["login"])) if found["login"] else None)


def _encoded(login: str) -> str:
    """Percent-encode user and password, whether that was done already or not."""
    parts = login.split(":", 1)
    from urllib.parse import quote_from_bytes, unquote_to_bytes

    return ":".join(quote_from_bytes(unquote_to_bytes(os.fsencode(part)), "") for part in parts)
