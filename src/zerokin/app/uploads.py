"""Bytes that a visitor sent, decoded as an image or refused in one line."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image

from zerokin.app.limits import Limits
from zerokin.app.refusals import TooLarge
from zerokin.data.images import FORMATS, decode
from zerokin.errors import InvalidInput


def decode_upload(content: bytes, name: str, limits: Limits) -> Image.Image:
    """Return an image, upright and in RGB.

    Parameters
    ----------
    content
        An image file.
    name
        What messages call it.
    limits
        Refused beyond them, before anything is decoded.
    """
    if len(content) > limits.upload_bytes:
        raise TooLarge(
            f"image {name} has {len(content):,} bytes, over the limit of {limits.upload_bytes:,}"
        )
    try:
        size = _size(content)
    except Image.DecompressionBombError:
        raise TooLarge(
            f"image {name} has far more than {limits.pixels:,} pixels: make it smaller"
        ) from None
    if size is None:
        return decode(content, name)  # which says what is wrong, as everywhere
    if size[0] * size[1] > limits.pixels:
        raise TooLarge(
            f"image {name} has {size[0]} × {size[1]} pixels, over the limit of "
            f"{limits.pixels:,}: make it smaller"
        )
    if max(size) > limits.side:
        raise TooLarge(
            f"image {name} has {size[0]} × {size[1]} pixels, over the limit of "
            f"{limits.side:,} along a side: make it smaller"
        )
    return decode(content, name)


def _size(content: bytes) -> tuple[int, int] | None:
    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as image:
            return image.size
    except Image.DecompressionBombError:
        raise
    # Pillow raises many kinds on damaged input.
    except Exception:
        return None


def upload_reader(path: Path) -> Callable[[], bytes]:
    """Return what reads an uploaded file, which may be gone by then."""

    def read() -> bytes:
        try:
            return path.read_bytes()
        except OSError as error:
            raise InvalidInput(f"{path.name} is no longer here: upload it again") from error

    return read


def take_paths(component: Any) -> None:
    """Have a Gradio component hand over where uploads lie, and nothing else.

    By itself it would open images in any format, before limits are checked, and leave an empty
    file behind for each.
    """

    def preprocess(payload: Any) -> Any:
        if payload is None:
            return None
        several = getattr(payload, "root", None)
        return payload.path if several is None else [one.path for one in several]

    component.preprocess = preprocess
