"""What every request has to pass before anything else sees it: the server's one door.

In this order: the name by which the server was called, the password, the page that sent the
request, the route, and the body, which is taken in whole. Answers leave with headers that keep a
browser from doing with them what this page does not do.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import suppress
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import urlsplit

from zerokin.app.page_requests import (
    JOIN,
    UPLOAD,
    CallRanges,
    check_query,
    is_page_route,
    rebuild_call,
)
from zerokin.app.passwords import PasswordGate
from zerokin.app.refusals import Refusal, Unknown, one_line, status_of
from zerokin.app.request_body import OVERHEAD, BodyReader, ClientGone, is_form
from zerokin.app.upload_store import VISITOR, UploadStore
from zerokin.errors import ZerokinError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
CALL_BYTES = 1_000_000  # of a body that is no upload
HOST = re.compile(r"(?:(?P<name>[A-Za-z0-9._-]+)|\[(?P<six>[0-9A-Fa-f:.]+)\])(?::\d{1,5})?")
COOKIE = "zerokin_visitor"
API = "/api/"
PREDICT, CLASSES = "/api/predict", "/api/classes"

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
    (b"x-frame-options", b"SAMEORIGIN"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)
# What a proxy may add is for uvicorn; Gradio would take it for its own address. Parts of a file
# are of no use to the page, and costly where there are many.
NOT_PASSED = (b"forwarded", b"x-forwarded-", b"x-gradio-", b"x-real-ip", b"x-ip-token", b"range")
# Gradio would let pages of any local port read answers; nobody but the own page may.
NOT_SENT = (b"access-control-", b"server")


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
    bodies
        Who takes bodies in.
    uploads
        What visitors sent.
    ranges
        What the arguments of the page's functions may be.
    """

    def __init__(
        self,
        app: Application,
        *,
        hosts: Iterable[str] | None,
        password: tuple[str, str] | None,
        bodies: BodyReader,
        uploads: UploadStore,
        ranges: CallRanges,
    ) -> None:
        self.app, self.bodies, self.uploads, self.ranges = app, bodies, uploads, ranges
        self.gate = None if password is None else PasswordGate(*password)
        self.hosts = None if hosts is None else frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with a refusal."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # nothing here speaks over web sockets
        answer = Answer(send, secure=scope.get("scheme") == "https")
        headers = {name: value.decode("latin-1") for name, value in reversed(scope["headers"])}
        try:
            self._check_sender(scope, headers)
            self._check_route(scope)
            await self._pass_on(scope, receive, answer, headers)
        except ClientGone:
            _log("%s %s: the client went away", scope)
        except _Unauthorized as error:
            if error.wait:
                await asyncio.sleep(min(error.wait, 1.0))
            await answer.refuse(error.status, str(error), error.headers)
        except ZerokinError as error:
            await answer.refuse(status_of(error), error, _retry(error))
        except Exception as error:
            # What Gradio did not foresee: its trace is of no use to anybody here.
            _log("%s %s: %s", scope, error)
            await answer.refuse(500, "something went wrong in the server: its log says what")

    def _check_sender(self, scope: Scope, headers: dict[bytes, str]) -> None:
        host, method = headers.get(b"host", ""), scope["method"]
        if self.hosts is not None and host_name(host) not in self.hosts:
            raise _Unauthorized(
                403, "this server does not go by that name: call it by 127.0.0.1 or localhost, "
                "or start it with --allowed-host"
            )  # fmt: skip
        if self.gate is not None:
            self._check_password(scope, headers.get(b"authorization", ""))
        origin = headers.get(b"origin")
        elsewhere = origin is not None and not same_site(origin, host, scope.get("scheme"))
        if method in CHANGING and (elsewhere or headers.get(b"sec-fetch-site") == "cross-site"):
            raise _Unauthorized(403, "requests from pages of other sites are refused")

    def _check_password(self, scope: Scope, authorization: str) -> None:
        assert self.gate is not None
        address, now = sender(scope), time.monotonic()
        verdict = self.gate.check(authorization, address, now)
        if verdict == "admitted":
            return
        wait = self.gate.seconds_left(address, now)
        if verdict == "too soon":
            raise _Unauthorized(
                429,
                f"too many wrong passwords: try again in {wait:.0f} seconds",
                {"retry-after": str(int(wait) + 1)},
            )
        raise _Unauthorized(
            401,
            "a user name and a password are needed (HTTP Basic)",
            {"www-authenticate": 'Basic realm="zerokin", charset="UTF-8"'},
            wait=wait if verdict == "wrong" else 0.0,
        )

    def _check_route(self, scope: Scope) -> None:
        path, method = scope["path"], scope["method"]
        if path.startswith(API) and method in CHANGING | {"GET"}:
            return
        if not is_page_route(method, path):
            raise Unknown(f"nothing at {path} for {method}")
        check_query(path, scope["query_string"])

    async def _pass_on(
        self, scope: Scope, receive: Receive, answer: Answer, headers: dict[bytes, str]
    ) -> None:
        path = scope["path"]
        visitor = _visitor(headers.get(b"cookie", ""))
        if visitor is None and path == "/":
            visitor = secrets.token_hex(16)
            answer.cookie = f"{COOKIE}={visitor}; HttpOnly; SameSite=Strict; Path=/"
        scope["zerokin.visitor"] = visitor
        form = is_form(headers.get(b"content-type", ""))
        uploading = path in (PREDICT, UPLOAD) or (path == CLASSES and form)
        most = self.bodies.limits.upload_bytes if uploading else CALL_BYTES
        length = headers.get(b"content-length", "0")
        if not (length.isascii() and length.isdigit()) or int(length[:20]) > most + OVERHEAD:
            await answer.refuse(413, f"more than the limit of {most:,} bytes: send less")
            return
        async with self.bodies.take_in(receive, most) as body:
            sent = [pair for pair in scope["headers"] if not pair[0].lower().startswith(NOT_PASSED)]
            inside: Receive = body.replay()
            if path == JOIN:
                call = await asyncio.to_thread(
                    rebuild_call,
                    body.read(),
                    lambda one: self.uploads.owns(visitor, one),
                    self.ranges,
                )
                inside = _single(call)
                own = {
                    b"content-length": str(len(call)).encode(),
                    b"content-type": b"application/json",
                }
                sent = [*(pair for pair in sent if pair[0] not in own), *own.items()]
            scope["headers"] = sent
            scope["zerokin.body"] = body
            await self.app(scope, _until_gone(inside, receive), answer.send)


class Answer:
    """What goes back: headers are added to it, and a refusal is possible until it has begun."""

    def __init__(self, send: Send, *, secure: bool) -> None:
        self._send, self._secure = send, secure
        self._begun = False
        self.cookie: str | None = None

    async def send(self, message: Message) -> None:
        """Pass a message of ASGI on, with this page's headers."""
        if message["type"] == "http.response.start":
            self._begun = True
            given = message.get("headers", ())
            kept = [pair for pair in given if not pair[0].lower().startswith(NOT_SENT)]
            message["headers"] = [*kept, *self._headers()]
        await self._send(message)

    async def refuse(
        self, status: int, line: object, headers: dict[str, str] | None = None
    ) -> None:
        """Answer with one line; nothing where an answer has begun already."""
        if self._begun:
            return
        body = json.dumps({"error": one_line(line)}).encode()
        given = {"content-type": "application/json", "content-length": str(len(body))}
        if status in (408, 413, 503):
            given["connection"] = "close"  # what is left of the body is not waited for
        pairs = [
            (name.encode(), value.encode()) for name, value in {**given, **(headers or {})}.items()
        ]
        await self.send({"type": "http.response.start", "status": status, "headers": pairs})
        await self.send({"type": "http.response.body", "body": body})

    def _headers(self) -> list[tuple[bytes, bytes]]:
        more = list(HEADERS)
        if self._secure:
            more.append((b"strict-transport-security", b"max-age=31536000"))
        if self.cookie is not None:
            secure = "; Secure" if self._secure else ""
            more.append((b"set-cookie", f"{self.cookie}{secure}".encode()))
        return more


class _Unauthorized(Refusal):
    """A request whose sender is not let in."""

    def __init__(
        self, status: int, line: str, headers: dict[str, str] | None = None, wait: float = 0.0
    ) -> None:
        super().__init__(line)
        self.status, self.headers, self.wait = status, headers, wait  # type: ignore[misc]


def host_name(host: str) -> str:
    """Return a ``Host`` header without its port.

    Examples
    --------
    >>> host_name("LocalHost:7860"), host_name("[::1]:7860"), host_name("a b")
    ('localhost', '::1', '')
    """
    found = HOST.fullmatch(host)
    return "" if found is None else (found["name"] or found["six"]).lower()


def same_site(origin: str, host: str, scheme: str | None) -> bool:
    """Tell whether a page of some origin is this server's own.

    Examples
    --------
    >>> same_site("http://localhost:7860", "localhost:7860", "http"), same_site("null", "a", "http")
    (True, False)
    >>> same_site("http://birds.example", "birds.example", "https")
    False
    """
    with suppress(ValueError):
        parts = urlsplit(origin)
        insecure = scheme == "https" and parts.scheme != "https"
        return bool(host) and parts.netloc.lower() == host.lower() and not insecure
    return False


def sender(scope: Scope) -> str:
    """Return the address a request came from: of IPv6 the network, which is one household.

    Examples
    --------
    >>> sender({"client": ("192.0.2.7", 1)}), sender({"client": ("2001:db8:1:2:3:4:5:6", 1)})
    ('192.0.2.7', '2001:db8:1:2')
    """
    address = str((scope.get("client") or ("unknown",))[0])
    return ":".join(address.split(":")[:4]) if address.count(":") > 3 else address


def _visitor(cookies: str) -> str | None:
    with suppress(CookieError):
        found = SimpleCookie(cookies).get(COOKIE)
        if found is not None and VISITOR.fullmatch(found.value):
            return str(found.value)
    return None


def _retry(error: ZerokinError) -> dict[str, str] | None:
    return {"retry-after": "1"} if status_of(error) == 503 else None


def _single(body: bytes) -> Receive:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def _until_gone(inside: Receive, outside: Receive) -> Receive:
    """Give the body that was taken in, and then whether the client is still there."""
    complete = False

    async def receive() -> Message:
        nonlocal complete
        if complete:
            return await outside()
        message = await inside()
        complete = not message.get("more_body", False)
        return message

    return receive


def _log(line: str, scope: Scope, *more: object) -> None:
    given = (scope["method"], one_line(scope["path"]), *map(one_line, map(repr, more)))
    logging.getLogger("zerokin").warning(line, *given)
