"""From picture files to batches on the device: decoded once, augmented where they are used."""

from zerokin.data.framing import Framing, framed
from zerokin.features.input.augmentation import Augmentation, centre_view, training_view
from zerokin.features.input.sources import PictureSource, open_source

__all__ = [
    "Augmentation",
    "Framing",
    "PictureSource",
    "centre_view",
    "framed",
    "open_source",
    "training_view",
]
