"""Certificate authorities that the caller trusts besides the system's, for a room as well.

A company's proxy that looks into connections signs them with an authority of its own, which
programs are told of by variables. Each program knows another one, and the files that they
name may be where a room cannot read; so a room gets one file with all of them.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from homeroom.errors import ConfigError, StorageError
from homeroom.files import read_regular

# Both are instead of the system's authorities (OpenSSL), the others are used with or instead
# of them, by one program each.
_INSTEAD = ("SSL_CERT_FILE", "SSL_CERT_DIR")
VARIABLES = (
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "PIP_CERT",
    "AWS_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "DENO_CERT",
    "NIX_SSL_CERT_FILE",
)
# Where systems keep theirs in one file: Debian, Fedora, SUSE, macOS and Alpine.
_SYSTEM = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
# Certificates alone: some keep the private key in the same file.
_CERTIFICATE = re.compile(
    rb"-----BEGIN ((?:TRUSTED |X509 )?CERTIFICATE)-----(.+?)-----END \1-----", re.DOTALL
)
_FILE_LIMIT = 16 * 1024 * 1024
_HELP = "correct or unset it; see docs/how-to/corporate-certificates.md"


class Bundle(msgspec.Struct, frozen=True):
    """Certificates for one file.

    Attributes:
        content: They, in PEM, each once.
        count: How many there are.
        sources: The variables and files that they are from, for people.
    """

    content: bytes
    count: int
    sources: tuple[str, ...]


def find(environ: Mapping[str, str]) -> Bundle | None:
    """Collect what the caller's variables name.

    Args:
        environ: The caller's environment.

    Returns:
        The certificates, with the system's own unless ``SSL_CERT_FILE`` or ``SSL_CERT_DIR``
        is there to replace those; None when no variable is set.

    Raises:
        ConfigError: A variable names what cannot be read or holds no certificate.
    """
    named = {name: [environ[name]] for name in VARIABLES if environ.get(name)}
    if directories := environ.get("SSL_CERT_DIR"):
        named["SSL_CERT_DIR"] = directories.split(os.pathsep)
    if not named:
        return None
    found: dict[bytes, bytes] = {}
    sources: list[str] = []
    read: set[str] = set()
    for name, places in named.items():
        for place in filter(None, places):
            sources.append(f"{name}={place}")
            if (real := os.path.realpath(place)) not in read:
                read.add(real)
                found |= _named(name, real)
    if not any(name in named for name in _INSTEAD):
        for place in filter(os.path.isfile, _SYSTEM):
            sources.append(place)
            found |= _parse([Path(place)])
            break
    return Bundle(b"\n".join(found.values()) + b"\n", len(found), tuple(sources))


def environment(bundle: Bundle | None, path: Path) -> dict[str, str]:
    """Give the variables by which programs find the certificates.

    Args:
        bundle: They, or None: then nothing need be said.
        path: The file that they are written to.
    """
    return dict.fromkeys(VARIABLES, str(path)) if bundle else {}


def _named(name: str, place: str) -> dict[bytes, bytes]:
    try:
        names = sorted(os.listdir(place)) if os.path.isdir(place) else [""]
        # A directory has each certificate by its name and by its hash (openssl-rehash(1)).
        real = {os.path.realpath(os.path.join(place, entry)) for entry in names}
        found = _parse(Path(path) for path in sorted(real) if not os.path.isdir(path))
    except FileNotFoundError:
        raise ConfigError(f"{name} names {place}, which is not there", _HELP) from None
    except (OSError, StorageError) as error:
        raise ConfigError(f"{name} names {place}, which cannot be read: {error}", _HELP) from error
    if not found:
        raise ConfigError(f"{name} names {place}, which holds no certificate in PEM", _HELP)
    return found


def _parse(files: Iterable[Path]) -> dict[bytes, bytes]:
    """Read certificates, by what tells them apart."""
    found: dict[bytes, bytes] = {}
    for file in files:
        for block in _CERTIFICATE.finditer(read_regular(file, _FILE_LIMIT, follow=True)):
            found.setdefault(b"".join(block[2].split()), block[0])
    return found
