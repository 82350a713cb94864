"""The web page and its HTTP interface: one server, on this machine, around one bundle."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zerokin.app.application import create_app
    from zerokin.app.limits import Limits
    from zerokin.app.server import serve
    from zerokin.app.service import Service

_HOMES = {
    "Limits": "limits",
    "Service": "service",
    "create_app": "application",
    "serve": "server",
}

__all__ = ["Limits", "Service", "create_app", "serve"]


def __getattr__(name: str) -> object:
    # Loaded on first use: Gradio takes seconds, and is not there without the extra.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
