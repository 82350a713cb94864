"""The whole application: guard, HTTP interface and page in one."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from zerokin._version import __version__
from zerokin.app.upload_store import UploadStore, upload_root
from zerokin.errors import MissingExtra

if TYPE_CHECKING:
    from fastapi import FastAPI

    from zerokin.app.label_service import LabelService
    from zerokin.app.service import Service

LOOPBACK = ("127.0.0.1", "localhost", "::1")
TIDY_SECONDS = 60.0  # between looks for uploads that nobody uses any more


def create_app(
    service: Service | LabelService,
    *,
    host: str = "127.0.0.1",
    allowed_hosts: Sequence[str] = (),
    password: tuple[str, str] | None = None,
) -> FastAPI:
    """Return the application of a service, for any ASGI server.

    Parameters
    ----------
    service
        Who answers.
    host
        The address it will be bound to: on loopback, other names for the machine are refused.
    allowed_hosts
        Names by which a proxy in front is called; then these and loopback's are the only ones.
    password
        ``(user, password)`` that everyone has to give.
    """
    stay_local()
    try:
        import gradio as gr
        import plotly  # noqa: F401
        from fastapi import FastAPI
    except ImportError as error:
        raise MissingExtra("the web page", "app") from error
    from zerokin.app.api import add_api
    from zerokin.app.guard import Guard
    from zerokin.app.label_page import label_page
    from zerokin.app.label_service import LabelService
    from zerokin.app.page import page
    from zerokin.app.request_body import BodyReader
    from zerokin.app.style import CSS, theme
    from zerokin.app.upload_routes import upload_routes
    from zerokin.app.values import call_ranges

    folder = Path(tempfile.mkdtemp(prefix="uploads-", dir=upload_root()))
    uploads = UploadStore(folder, service.limits)
    bodies = BodyReader(service.limits, upload_root())

    # FastAPI's own documentation pages would fetch scripts from elsewhere.
    app = FastAPI(
        title="zerokin",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=lambda _: _tidied(uploads),
    )
    add_api(app, service, bodies)
    app.include_router(upload_routes(uploads, most_files=service.limits.batch_images))
    blocks = label_page(service) if isinstance(service, LabelService) else page(service)
    gr.mount_gradio_app(
        app,
        blocks,
        path="/",
        server_name=host,
        footer_links=[],
        # Example images travel inside the answers: no file needs to be served.
        allowed_paths=[],
        blocked_paths=[str(service.folder.resolve())],
        show_error=False,
        max_file_size=service.limits.upload_bytes,
        ssr_mode=False,
        enable_monitoring=False,
        mcp_server=False,
        run_history=False,
        pwa=False,
        theme=theme(),
        css=CSS,
    )
    # Gradio's own check of paths rests until a page has been launched, which a mounted one is not.
    blocks.has_launched = True
    named = bool(allowed_hosts) or is_loopback(host)
    app.add_middleware(
        Guard,
        hosts=(*LOOPBACK, host, *allowed_hosts) if named else None,
        password=password,
        bodies=bodies,
        uploads=uploads,
        ranges=call_ranges(blocks),
    )
    return app


@asynccontextmanager
async def _tidied(uploads: UploadStore) -> AsyncIterator[None]:
    """Remove uploads when their time is over, and all of them in the end."""

    async def tidy() -> None:
        while True:
            await asyncio.sleep(TIDY_SECONDS)
            await asyncio.to_thread(uploads.remove_old)

    task = asyncio.create_task(tidy())
    try:
        yield
    finally:
        task.cancel()
        uploads.close()


def is_loopback(host: str) -> bool:
    """Tell whether an address is reached from this machine alone.

    Examples
    --------
    >>> is_loopback("localhost"), is_loopback("127.3.2.1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host in LOOPBACK


def stay_local() -> None:
    """Keep the libraries from calling home, and Gradio's files in a folder that is cleared away.

    To be called before they are imported.
    """
    upload_root()
    for name, value in (
        ("GRADIO_ANALYTICS_ENABLED", "False"),
        ("HF_HUB_DISABLE_TELEMETRY", "1"),
        ("HF_HUB_OFFLINE", "1"),
        ("TRANSFORMERS_OFFLINE", "1"),
    ):
        os.environ[name] = value
