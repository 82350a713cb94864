"""Opening the bundle that a command was given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from zerokin.compute.imports import import_without_collecting

if TYPE_CHECKING:
    from zerokin.recognizer import Recognizer


def open_bundle(model: Path, *, device: str | None = "cpu") -> Recognizer:
    """Read the bundle in a folder, with a quick start of the libraries that it needs."""
    with import_without_collecting():
        from zerokin.recognizer import Recognizer

        return Recognizer.load(model, device=device)
