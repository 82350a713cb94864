"""Images of any shape as squares of bytes."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from zerokin.errors import InvalidInput, did_you_mean, shown
from zerokin.parameters import SIDE, InstanceOf, check_arguments

ResizeMode = Literal["whole", "center"]


def resize_to_square(
    image: Image.Image, side: int, resize_mode: ResizeMode = "whole"
) -> NDArray[np.uint8]:
    """Return an image as a square, (3, side, side).

    Parameters
    ----------
    image
        Upright, RGB.
    side
        In pixels.
    resize_mode
        ``"whole"``: all of the image, stretched to a square. ``"center"``: its largest centered
        square, in its true proportions.

    Examples
    --------
    >>> resize_to_square(Image.new("RGB", (40, 20), "red"), 10).shape
    (3, 10, 10)
    """
    check_arguments(
        {"image": InstanceOf(Image.Image, "a Pillow image"), "side": SIDE},
        image=image,
        side=side,
    )
    check_resize_mode(resize_mode)
    if image.mode != "RGB":
        raise InvalidInput(f"image must be in RGB: got {image.mode}")
    width, height = image.size
    box = (0.0, 0.0, float(width), float(height))
    if resize_mode == "center":
        edge = min(width, height)
        left, top = (width - edge) / 2, (height - edge) / 2
        box = (left, top, left + edge, top + edge)
    square = image
    if (width, height) != (side, side):
        square = image.resize((side, side), Image.Resampling.BICUBIC, box=box)
    return np.ascontiguousarray(np.asarray(square).transpose(2, 0, 1))


def check_resize_mode(resize_mode: str) -> None:
    """Refuse a resize mode that does not exist."""
    known = get_args(ResizeMode)
    if resize_mode not in known:
        raise InvalidInput(
            f"unknown resize_mode {shown(resize_mode)}{did_you_mean(resize_mode, known)} "
            f"(known: {', '.join(known)})"
        )
