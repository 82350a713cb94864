"""The whole application: guard, HTTP interface and page in one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from zerokin._version import __version__
from zerokin.errors import MissingExtra

if TYPE_CHECKING:
    from fastapi import FastAPI

    from zerokin.app.service import Service

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def create_app(
    service: Service, *, host: str = "127.0.0.1", password: tuple[str, str] | None = None
) -> FastAPI:
    """Return the application of a service, for any ASGI server.

    Parameters
    ----------
    service
        Who answers.
    host
        The address it will be bound to: on loopback, other names for the machine are refused.
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
    from zerokin.app.page import page, theme
    from zerokin.app.style import CSS

    # FastAPI's own documentation pages would fetch scripts from elsewhere.
    app = FastAPI(
        title="zerokin",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    add_api(app, service)
    gr.mount_gradio_app(
        app,
        page(service),
        path="/",
        server_name=host,
        footer_links=[],
        # Example pictures travel inside the answers: no file needs to be served.
        allowed_paths=[],
        blocked_paths=[str(service.folder.resolve())],
        show_error=False,
        max_file_size=service.limits.upload_bytes,
        ssr_mode=False,
        enable_monitoring=False,
        mcp_server=False,
        theme=theme(),
        css=CSS,
    )
    app.add_middleware(
        Guard,
        hosts=(*LOOPBACK, host) if host in LOOPBACK else None,
        password=password,
        most_bytes=service.limits.upload_bytes,
    )
    return app


def stay_local() -> None:
    """Keep the libraries from calling home; to be called before they are imported."""
    for name, value in (
        ("GRADIO_ANALYTICS_ENABLED", "False"),
        ("HF_HUB_DISABLE_TELEMETRY", "1"),
        ("HF_HUB_OFFLINE", "1"),
        ("TRANSFORMERS_OFFLINE", "1"),
    ):
        os.environ[name] = value
