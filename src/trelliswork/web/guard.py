"""Who may ask: hosts, origins and tokens are checked before anything else, and answers say what may run."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from trelliswork.web.bodies import as_json

__all__ = ["HEADERS", "Guard", "is_loopback"]

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
]
_OPEN = ("/", "/health", "/openapi.json", "/favicon.ico")  # nothing of a model is there
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\s@:/\\?#\[\]]+)(:[0-9]*)?")
_OTHER_SITE = 403, "requests from other sites are refused"


def is_loopback(host: str) -> bool:
    """Whether a host can be reached from this machine alone.

    Examples
    --------
    >>> from trelliswork.web.guard import is_loopback
    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if host == "localhost":
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def _address(host: str) -> Any:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


class Guard:
    """Middleware that refuses requests from elsewhere.

    A page of another site can send requests to this machine, and can make a name of its own point to it
    (DNS rebinding). So the ``Host`` must be an address or a name that was given, requests that change or cost
    something must come from the page itself, and a token is needed where other machines can connect.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    host : str
        Address that the server is bound to.
    names : iterable of str
        Other names of the server.
    token : str or None
        Secret that requests must bring.
    """

    def __init__(
        self, app: Any, *, host: str = "127.0.0.1", names: Iterable[str] = (), token: str | None = None
    ):
        self.app = app
        self.local = is_loopback(host)
        self.names = frozenset(name.strip("[]").lower() for name in (host, *names))
        self.token = None if token is None else token.encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Check a request and pass it on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            elif scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        started = False

        async def send_guarded(message: Any) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None:
            try:
                await self.app(scope, receive, send_guarded)
            except asyncio.CancelledError:  # the server ends, and the time that it had for that is over
                if started:
                    raise
                refusal = 503, "the server is shutting down"
            else:
                return
        status, text = refusal
        body = as_json({"error": text})
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        if status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        await send_guarded({"type": "http.response.start", "status": status, "headers": headers})
        await send_guarded({"type": "http.response.body", "body": body})

    def _refusal(self, scope: Any) -> tuple[int, str] | None:
        headers = dict(scope["headers"])
        if [name for name, _ in scope["headers"]].count(b"host") != 1:
            return 400, "expected one Host header"
        host = headers[b"host"].decode("latin-1")
        if not self._is_ours(host):
            return 403, "the Host of this request is not that of this server; see --allow-host"
        came_from = headers.get(b"sec-fetch-site", b"same-origin")
        linked = scope["method"] == "GET" and headers.get(b"sec-fetch-mode") == b"navigate"
        if came_from not in (b"same-origin", b"none") and not linked:
            return _OTHER_SITE
        if scope["method"] not in ("GET", "HEAD"):
            origin = headers.get(b"origin")
            if origin is not None and not _same_origin(origin.decode("latin-1"), host):
                return _OTHER_SITE
        path = scope["path"]
        if self.token is not None and path not in _OPEN and not path.startswith("/static/"):
            given = headers.get(b"authorization", b"")
            scheme, _, secret = given.partition(b" ")
            if scheme.lower() != b"bearer" or not hmac.compare_digest(secret.strip(), self.token):
                return 401, "this server needs a token: Authorization: Bearer TOKEN"
        return None

    def _is_ours(self, host: str) -> bool:
        """Whether a Host header names this server; a name of another site never does."""
        parts = _HOST.fullmatch(host)
        if parts is None:
            return False
        name = parts[1].strip("[]").lower()
        if name in self.names:
            return True
        if self.local:
            return is_loopback(name)
        return _address(name) is not None  # an address cannot be made to point elsewhere


def _same_origin(origin: str, host: str) -> bool:
    try:
        return urlsplit(origin).netloc.lower() == host.lower() and origin != "null"
    except ValueError:
        return False
