"""Running the application: a socket, signals, and an orderly end."""

from __future__ import annotations

import logging
import os
import resource
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from zerokin.app.application import create_app, is_loopback, stay_local
from zerokin.app.limits import Limits
from zerokin.app.upload_store import release_upload_root
from zerokin.compute.threads import blas_on_one_thread
from zerokin.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from fastapi import FastAPI

BACKLOG = 256  # connections that may wait to be taken in
OPEN_FILES = 4096
IDLE = 20  # seconds that a connection stays open between two requests
PATIENCE = 20  # seconds that requests in flight have to finish when the server is stopped


def serve(
    folder: str | os.PathLike[str],
    *,
    host: str = "127.0.0.1",
    port: int = 7860,
    allowed_hosts: Sequence[str] = (),
    password: tuple[str, str] | None = None,
    no_password: bool = False,
    limits: Limits | None = None,
    read_only: bool | None = None,
    device: str | None = None,
    ready: Callable[[str], None] = print,
) -> None:
    """Serve a bundle until SIGINT or SIGTERM; requests in flight are finished first.

    Parameters
    ----------
    folder
        The bundle.
    host, port
        Where to listen; port 0 takes a free one.
    allowed_hosts
        Names by which a proxy in front of the server is called.
    password
        ``(user, password)`` that everyone has to give.
    no_password
        Serve others without one: whoever finds the server can use the model.
    limits, device
        As for `Service`.
    read_only
        Let nobody add or remove classes; by default so where others can reach the server.
    ready
        Told the page's address once it can be called.
    """
    stay_local()
    try:
        import gradio  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise MissingExtra("the web page", "app") from error
    from zerokin.app.connections import bounded_protocol
    from zerokin.app.label_service import LabelService
    from zerokin.app.service import Service
    from zerokin.classifiers.multi_label.serialization import is_multi_label

    public = check_exposure(host, allowed_hosts, password, no_password=no_password)
    blas_on_one_thread()
    _log_lines()
    _allow_open_files()
    with listen(host, port) as listening:
        service: Service | LabelService
        if is_multi_label(folder):
            service = LabelService(folder, limits=limits, device=device)
        else:
            service = Service(
                folder,
                limits=limits,
                read_only=public if read_only is None else read_only,
                device=device,
            )
        app = create_app(service, host=host, allowed_hosts=allowed_hosts, password=password)
        config = uvicorn.Config(
            app,
            http=bounded_protocol(service.limits),
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=PATIENCE,
            timeout_keep_alive=IDLE,
            server_header=False,
            # Only a proxy tells whom it asks for; anybody else could say anything.
            proxy_headers=bool(allowed_hosts),
            forwarded_allow_ips=["127.0.0.1", "::1"],
            ws="none",
        )
        own_port = listening.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        # uvicorn raises a signal again once it has stopped: then it must no longer kill.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        try:
            _server(config, app, lambda: ready(f"http://{shown}:{own_port}")).run(
                sockets=[listening]
            )
        finally:
            service.close()
            release_upload_root()


def _allow_open_files() -> None:
    """Have room for as many connections as are taken, and for files beside them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < OPEN_FILES:
        with suppress(ValueError, OSError):
            most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _server(config: Any, app: FastAPI, ready: Callable[[], None]) -> Any:
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            # Open pages hold a connection each, which would not end by itself.
            for route in app.routes:
                stop = getattr(getattr(route, "app", None), "stop_event", None)
                if stop is not None:
                    stop.set()
            await super().shutdown(sockets)

    return Server(config)


def check_exposure(
    host: str,
    allowed_hosts: Sequence[str],
    password: tuple[str, str] | None,
    *,
    no_password: bool = False,
) -> bool:
    """Tell whether others can reach the server; then refuse to start it without a password.

    Examples
    --------
    >>> check_exposure("127.0.0.1", (), None), check_exposure("0.0.0.0", (), ("ada", "lovelace"))
    (False, True)
    """
    public = bool(allowed_hosts) or not is_loopback(host)
    if public and password is None and not no_password:
        raise InvalidInput(
            "others can reach the server, so it needs a password: give --password, or "
            "--no-password for everyone to use the model, or stay on 127.0.0.1"
        )
    return public


def _log_lines() -> None:
    """Have this program's log on standard error, a line each with the time."""
    logger = logging.getLogger("zerokin")
    if not logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        logger.addHandler(handler)
        logger.propagate = False


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or say in one line why there is none."""
    if not 0 <= port <= 65535:
        raise InvalidInput(f"a port lies between 0 and 65535: got {port}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends answers without delay only over sockets that name their protocol.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
        return listening
    except OSError as error:
        listening.close()
        raise InvalidInput(
            f"cannot listen on {host} port {port} ({error.strerror or error}): "
            "give another --port or --host"
        ) from error


def password_of(text: str | None) -> tuple[str, str] | None:
    """Return user and password of ``USER:PASSWORD``.

    Examples
    --------
    >>> password_of("ada:lovelace"), password_of(None)
    (('ada', 'lovelace'), None)
    """
    if text is None:
        return None
    user, colon, password = text.partition(":")
    if not colon or not user or not password:
        raise InvalidInput("a password is given as USER:PASSWORD")
    return user, password
