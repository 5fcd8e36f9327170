"""Asking a provider's server, once, whether it lets a credential through."""

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from homeroom import certificates, proxy
from homeroom.credential.secret import Credential, CredentialKind, Secret
from homeroom.errors import CredentialError, TryAgainError
from homeroom.provider import Provider

if TYPE_CHECKING:
    import ssl
    import urllib.request

NAMES: Mapping[CredentialKind, str] = {
    "api-key": "API key",
    "token": "long-lived token",
    "oauth": "grant",
}
_LIMIT = 20.0
_REFUSALS = (401, 403)
# A server says so only to somebody it knows.
_TOO_MANY = 429
_OFFLINE = "add --offline to save it unchecked"


def ask(provider: Provider, credential: Credential, environ: Mapping[str, str]) -> None:
    """Make one request with a credential.

    Proxies and certificates are those that a room would get. Nobody is followed to another
    server: the credential is for this one alone.

    Args:
        provider: The adapter.
        credential: What to try.
        environ: The caller's environment.

    Raises:
        CredentialError: The server refused it.
        TryAgainError: The server could not be asked, or gave an answer that says nothing.
        ConfigError: A variable names a proxy or certificates that are none.
    """
    import http.client
    import urllib.error
    import urllib.request

    url, headers = provider.probe(credential)
    shown = {
        name: value.reveal() if isinstance(value, Secret) else value
        for name, value in headers.items()
    }
    host = url.split("/")[2]
    opener = _opener(environ)
    try:
        request = urllib.request.Request(url, headers=shown)  # noqa: S310 - the adapter's own
        with opener.open(request, timeout=_LIMIT):
            return
    except urllib.error.HTTPError as error:
        error.close()
        _judge(error.code, host, NAMES[credential.kind])
    except (OSError, ValueError, http.client.HTTPException) as error:
        # Nothing else of an error is shown: it may repeat a header.
        reason = getattr(error, "reason", error)
        said = f": {reason}" if isinstance(reason, OSError) else ""
        raise TryAgainError(
            f"cannot ask {host} whether the {NAMES[credential.kind]} is good{said}",
            f"look at the network, the proxy and the certificates, or {_OFFLINE}",
        ) from None


def _opener(environ: Mapping[str, str]) -> "urllib.request.OpenerDirector":
    import urllib.request

    class Unmoved(urllib.request.HTTPRedirectHandler):
        """Makes of a redirect the error that it is here."""

        def redirect_request(self, *_: object, **__: object) -> None:
            """Refuse."""

    upstream = proxy.find(environ)
    through = {"https": upstream.https.reveal()} if upstream else {}
    return urllib.request.build_opener(
        Unmoved,
        urllib.request.ProxyHandler(through),
        urllib.request.HTTPSHandler(context=_trust(environ)),
    )


def _trust(environ: Mapping[str, str]) -> "ssl.SSLContext":
    import ssl

    # OpenSSL itself reads SSL_CERT_FILE and SSL_CERT_DIR; the others it does not know.
    context = ssl.create_default_context()
    bundle = certificates.find(environ)
    if bundle is not None:
        # What OpenSSL cannot read among them is not trusted.
        with contextlib.suppress(ssl.SSLError, UnicodeError):
            context.load_verify_locations(cadata=bundle.content.decode())
    return context


def _judge(status: int, host: str, name: str) -> None:
    if status in _REFUSALS:
        raise CredentialError(
            f"{host} refuses that {name} (status {status}); nothing was saved",
            f"copy it again, whole, or {_OFFLINE}; see docs/how-to/use-an-api-key.md",
        )
    if status != _TOO_MANY:
        raise TryAgainError(
            f"{host} answers with status {status}, which says nothing about the {name}",
            f"try again later, or {_OFFLINE}",
        )
