"""Imports of large libraries without garbage collection, so that commands start quickly."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def import_without_collecting() -> Iterator[None]:
    """Import large libraries without looking for garbage among what they define, then or later.

    What torch and timm define lives to the end of the process, and to look through it again and
    again takes longer than to read an image.

    Examples
    --------
    >>> with import_without_collecting():
    ...     gc.isenabled()
    False
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        atexit.register(gc.unfreeze)  # some libraries complain of what is left at the very end
        if was_enabled:
            gc.enable()
