"""From picture files to batches on the device: decoded once, augmented where they are used."""

from zerokin.data.resizing import ResizeMode, resize_to_square
from zerokin.features.input.augmentation import Augmentation, centre_view, training_view
from zerokin.features.input.sources import PictureSource, open_source

__all__ = [
    "Augmentation",
    "PictureSource",
    "ResizeMode",
    "centre_view",
    "open_source",
    "resize_to_square",
    "training_view",
]
