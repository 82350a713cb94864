"""Text to and from a system whose locale is not UTF-8, such as C on a bare server."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path


def as_typed(text: str) -> str:
    r"""Return an argument or the name of a file as UTF-8 where the locale could not read it.

    In a locale such as C, Python keeps what is no ASCII as bytes in disguise (lone surrogates).

    Examples
    --------
    >>> as_typed("caf\udcc3\udca9")
    'café'
    >>> as_typed("no UTF-8: \udce9")
    'no UTF-8: \udce9'
    """
    if text.isascii():
        return text
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8")
    except UnicodeError:
        return text


def as_text(name: str) -> str:
    r"""Return the name of a file as text that can be written, bytes that are no UTF-8 as escapes.

    Examples
    --------
    >>> as_text("caf\udcc3\udca9 \udcff")
    'caf\\udcc3\\udca9 \\udcff'
    """
    return as_typed(name).encode("utf-8", "backslashreplace").decode()


def on_disk(path: Path) -> Path:
    """Return a path that the system can open, whatever the locale: the inverse of `as_typed`."""
    try:
        os.fsencode(path)
        return path
    except UnicodeEncodeError:
        return Path(os.fsdecode(str(path).encode("utf-8", "surrogateescape")))


def print_anything() -> None:
    """Have signs that a terminal cannot show printed as escapes, rather than fail."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
