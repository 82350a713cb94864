"""Small example images of seen classes, to show what a class's kin look like."""

from __future__ import annotations

import io
from collections.abc import Mapping

import numpy as np
from PIL import Image

from zerokin.data.dataset import Dataset

Examples = Mapping[str, tuple[bytes, ...]]

PER_CLASS = 3
SIDE = 160
QUALITY = 80


def thumbnail(image: Image.Image, *, side: int = SIDE) -> bytes:
    """Return an image as a JPEG whose longer side is at most ``side`` pixels.

    Examples
    --------
    >>> Image.open(io.BytesIO(thumbnail(Image.new("RGB", (400, 200))))).size
    (160, 80)
    """
    small = image.copy()
    small.thumbnail((side, side))
    buffer = io.BytesIO()
    # Without the image's EXIF data: it may tell where and by whom it was taken.
    small.save(buffer, "JPEG", quality=QUALITY, optimize=True)
    return buffer.getvalue()


def example_images(dataset: Dataset, *, per_class: int = PER_CLASS) -> dict[str, tuple[bytes, ...]]:
    """Return thumbnails of training images, spread evenly over those of each seen class."""
    train, labels = dataset.split.train, dataset.training_labels()
    found = {}
    for position in dataset.seen.tolist():
        own = train[labels == position]
        chosen = np.unique(np.linspace(0, len(own) - 1, per_class).round().astype(int))
        found[dataset.classes.names[position]] = tuple(
            thumbnail(dataset.images.load(int(own[i]))) for i in chosen
        )
    return found
