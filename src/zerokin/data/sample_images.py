"""The images behind some samples of a data set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from zerokin.data.attached_features import end_alike
from zerokin.data.dataset import Dataset
from zerokin.data.images import Images
from zerokin.data.splits import Indices
from zerokin.errors import InvalidInput


def load_sample_images(dataset: Dataset, source: Dataset, samples: Indices) -> list[Image.Image]:
    """Decode the images of some samples, refusing images of other samples.

    Parameters
    ----------
    dataset
        Features or images, whose samples are meant.
    source
        The same samples in the same order, as images. Where both name them, the names must end
        alike.
    samples
        Positions of samples.
    """
    theirs = source.provenance.source
    if not isinstance(source.inputs, Images):
        raise InvalidInput(
            f"{theirs} holds {source.kind}, not images: name the data that has them (cub=DIR)"
        )
    if len(source) != len(dataset):
        raise InvalidInput(
            f"{theirs} has {len(source):,} images, but {dataset.provenance.source} has "
            f"{len(dataset):,} samples: name the images of the same data"
        )
    names: Sequence[str] | None = getattr(dataset.inputs, "names", None)
    for number in samples.tolist():
        ours, image = names[number] if names else "", source.images.names[number]
        if ours and not (end_alike(ours, image) or end_alike(image, ours)):
            raise InvalidInput(
                f"{theirs} has other images: sample {number + 1:,} is {image!r} there, {ours!r} in "
                f"{dataset.provenance.source}; name the images of the same data"
            )
    return [source.images.load(number) for number in samples.tolist()]


class ChosenImages(Images):
    """Some of the images, the others never read.

    Parameters
    ----------
    images
        All of them.
    chosen
        Positions of those that are meant, in this order.
    """

    def __init__(self, images: Images, chosen: Indices) -> None:
        self.all, self.chosen = images, chosen.tolist()
        self.names = [images.names[index] for index in self.chosen]

    def load(self, index: int) -> Image.Image:
        return self.all.load(self.chosen[index])

    def digest(self, index: int) -> bytes:
        return self.all.digest(self.chosen[index])

    def file(self, index: int) -> Path | None:
        return self.all.file(self.chosen[index])

    def array(self, index: int) -> NDArray[np.uint8]:
        return self.all.array(self.chosen[index])
