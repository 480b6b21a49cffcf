"""Middleware for every request: the host name, the token, and the headers of every response."""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]
POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "::1")
HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:/@\s]+)(?::\d*)?")
OPEN = ("/health",)  # paths that need no token


class Guard:
    """Refuses requests of other hosts or without the token; adds security headers to responses."""

    def __init__(self, app: Any, token: str | None = None, hosts: tuple[str, ...] | None = LOOPBACK) -> None:
        self.app, self.token, self.hosts = app, token, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                policy = [] if POLICY[0] in given else [POLICY]
                message["headers"] = [*message["headers"], *policy, *(h for h in HEADERS if h[0] not in given)]
            await send(message)

        headers = dict(scope["headers"])
        if self.hosts is not None and _host(scope["headers"]) not in self.hosts:
            # A page of somebody else's that has its name point here (DNS rebinding) is not served.
            await refuse(guarded, 421, "this service may only be called by its own host name")
        elif scope["path"] not in OPEN and not self._allows(headers.get(b"authorization", b"")):
            more = [(b"www-authenticate", b'Bearer, Basic realm="tallybayes", charset="UTF-8"')]
            await refuse(guarded, 401, "a token is needed: Authorization: Bearer …", more)
        else:
            await self.app(scope, receive, guarded)

    def _allows(self, header: bytes) -> bool:
        return self.token is None or has_token(header, self.token)


def has_token(header: bytes, token: str) -> bool:
    """Whether an Authorization header has the token: as a bearer token, or as the password that a browser asks for."""
    kind, _, value = header.partition(b" ")
    if kind.lower() == b"basic":
        try:
            value = base64.b64decode(value, validate=True).partition(b":")[2]
        except binascii.Error:
            return False
    elif kind.lower() != b"bearer":
        return False
    return hmac.compare_digest(value.strip(), token.encode())


def _host(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The name that the request asks for, without the port; nothing where it is malformed or given twice."""
    given = [value for name, value in headers if name == b"host"]
    found = HOST.fullmatch(given[0].decode("latin-1").lower()) if len(given) == 1 else None
    return found[1] if found else ""


async def refuse(send: Send, status: int, detail: str, headers: list[tuple[bytes, bytes]] | None = None) -> None:
    """Send an error."""
    import json

    body = json.dumps({"detail": detail}).encode()
    start = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *(headers or [])]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": body})
