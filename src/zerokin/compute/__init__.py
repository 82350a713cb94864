"""What computing stands on: cores and memory, devices, processes beside this one."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zerokin.compute.processes import Processes, current, joined

__all__ = ["Processes", "current", "joined"]


def __getattr__(name: str) -> Any:
    # Workers must know when to end before anything large is imported.
    if name in __all__:
        return getattr(import_module("zerokin.compute.processes"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
