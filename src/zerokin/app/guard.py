"""What every request has to pass, the page's own as well: host, password, origin, size."""

from __future__ import annotations

import hmac
import json
from base64 import b64decode
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from zerokin.app.refusals import TooLarge

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
OVERHEAD = 100_000  # bytes that a form adds around a file

# A browser that keeps to this asks no other host for anything.
POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self' data: blob:",
        "worker-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'self'",
    )
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)


class Guard:
    """Refuses requests before the application sees them.

    Parameters
    ----------
    app
        What is guarded.
    hosts
        Names by which the server may be addressed; None for any. A page elsewhere that has its
        own name point at this machine is refused by this.
    password
        ``(user, password)`` that HTTP Basic authentication has to give; None for nobody.
    most_bytes
        Of one request's body, apart from what a form adds to it.
    """

    def __init__(
        self,
        app: Application,
        *,
        hosts: Iterable[str] | None,
        password: tuple[str, str] | None,
        most_bytes: int,
    ) -> None:
        self.app, self.password, self.most_bytes = app, password, most_bytes
        self.hosts = None if hosts is None else frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with a refusal."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # nothing here speaks over web sockets
        headers = {name: value.decode("latin-1") for name, value in reversed(scope["headers"])}
        refused = self._refused(scope["method"], headers)
        if refused is not None:
            await _refuse(send, *refused)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        await self.app(scope, self._counted(receive), with_headers)

    def _refused(self, method: str, headers: dict[bytes, str]) -> tuple[int, str] | None:
        host = headers.get(b"host", "")
        if self.hosts is not None and host_name(host) not in self.hosts:
            return 403, "this server is for this machine only: call it by 127.0.0.1 or localhost"
        if self.password is not None and not self._admitted(headers.get(b"authorization", "")):
            return 401, "a user name and a password are needed (HTTP Basic)"
        origin = headers.get(b"origin")
        if method in CHANGING and origin is not None and urlsplit(origin).netloc != host:
            return 403, "requests from pages of other sites are refused"
        length = headers.get(b"content-length", "0")
        if not length.isdigit() or int(length) > self.most_bytes + OVERHEAD:
            return 413, f"more than the limit of {self.most_bytes:,} bytes: send less"
        return None

    def _admitted(self, authorization: str) -> bool:
        kind, _, encoded = authorization.partition(" ")
        if kind.lower() != "basic" or self.password is None:
            return False
        with suppress(ValueError):
            given = b64decode(encoded.strip(), validate=True)
            return hmac.compare_digest(given, ":".join(self.password).encode())
        return False

    def _counted(self, receive: Receive) -> Receive:
        # A body may come in pieces that announce no length.
        taken = 0

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self.most_bytes + OVERHEAD:
                raise TooLarge(f"more than the limit of {self.most_bytes:,} bytes: send less")
            return message

        return counted


def host_name(host: str) -> str:
    """Return a ``Host`` header without its port.

    Examples
    --------
    >>> host_name("LocalHost:7860"), host_name("[::1]:7860"), host_name("a b")
    ('localhost', '::1', '')
    """
    with suppress(ValueError):
        return (urlsplit(f"//{host}").hostname or "") if " " not in host else ""
    return ""


async def _refuse(send: Send, status: int, line: str) -> None:
    body = json.dumps({"error": line}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        *HEADERS,
    ]
    if status == 401:
        headers.append((b"www-authenticate", b'Basic realm="zerokin", charset="UTF-8"'))
    if status == 413:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
