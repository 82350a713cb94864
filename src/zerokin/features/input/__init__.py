"""From image files to batches on the device: decoded once, augmented where they are used."""

from zerokin.aliases import former
from zerokin.data.resizing import ResizeMode, resize_to_square
from zerokin.features.input.augmentation import Augmentation, center_view, training_view
from zerokin.features.input.feature_source import FeatureSource
from zerokin.features.input.sources import ImageSource, Source, open_source

__all__ = [
    "Augmentation",
    "FeatureSource",
    "ImageSource",
    "ResizeMode",
    "Source",
    "center_view",
    "open_source",
    "resize_to_square",
    "training_view",
]

_FORMER = {"PictureSource": "ImageSource", "centre_view": "center_view"}

__getattr__ = former(__name__, _FORMER)
