"""The web page and its HTTP interface: one server, on this machine, around one bundle."""

from typing import TYPE_CHECKING

from zerokin.aliases import former

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

# Loaded on first use: Gradio takes seconds, and is not there without the extra.
__getattr__ = former(__name__, {}, homes=_HOMES)
