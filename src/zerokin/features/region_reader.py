"""`RegionReader`: images to features of a grid of regions, reduced by principal components."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from zerokin._version import __version__
from zerokin.data.dataset import Dataset
from zerokin.data.resizing import ResizeMode, resize_to_square
from zerokin.data.sample_images import ChosenImages
from zerokin.errors import InvalidInput
from zerokin.features.extractor import MOST_REGIONS
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.input.sources import ImageSource, ResidentSource, open_source
from zerokin.features.reading import View, read_images
from zerokin.files import read_versioned
from zerokin.parameters import Integer, check_arguments, is_whole

REGIONS, COMPONENTS = 7, 256
FORMAT, VERSION = "zerokin-region-reader", 1
CONFIG, NETWORK, ARRAYS = "regions.json", "network", "components.npz"
RESIZE_MODE: ResizeMode = "whole"
"""Whatever the network learned with: regions are of all of an image."""
MOST_BYTES = 8 * 2**30


class RegionReader:
    """A frozen network that reads a grid of regions off images, in place of whole images.

    Parameters
    ----------
    learner
        The network, fitted or prepared.
    regions
        So many regions a side.
    components
        Principal components of the training images' regions that are kept; 0 keeps features as
        they are.

    Attributes
    ----------
    mean_, directions_ : (C,), (C, k) of the principal components; None where none are taken

    Notes
    -----
    Components need no label, so that nothing is learned from test images or their classes.
    """

    def __init__(
        self, learner: FeatureLearner, *, regions: int = REGIONS, components: int = COMPONENTS
    ) -> None:
        check_arguments(
            {"regions": Integer(1, MOST_REGIONS), "components": Integer(0)},
            regions=regions,
            components=components,
        )
        learner._check_fitted("the network of regions")
        backbone = learner.network_.backbone
        if backbone.flatten:
            raise InvalidInput(
                f"{backbone.name} gives no features of regions: choose another backbone"
            )
        self.learner, self.regions, self.components = learner, regions, components
        self.mean_: NDArray[np.float32] | None = None
        self.directions_: NDArray[np.float32] | None = None

    @property
    def view(self) -> View:
        """How images are shown to the network: never cropped, or regions would be of crops."""
        return self.learner.view._replace(regions=self.regions, tta_crops=0, tta_crop_seed=None)

    @property
    def width(self) -> int:
        """Length d_f of a region's features."""
        channels = self.learner.network_.backbone.channels
        return channels if self.directions_ is None else self.directions_.shape[1]

    def fit_transform(self, dataset: Dataset, *, quiet: bool = True) -> NDArray[np.float32]:
        """Learn components from the training images; return their features (n, R, d_f)."""
        train = dataset.split.train
        source = open_source(
            ChosenImages(dataset.images, train),
            self.learner.cache_size,
            resize_mode=RESIZE_MODE,
            device=self.learner.torch_device,
            quiet=quiet,
        )
        wide = self.learner.network_.backbone.channels * self.regions**2
        if 2 * len(train) * wide > MOST_BYTES:
            raise InvalidInput(
                f"features of {len(train):,} × {self.regions}² regions do not fit into memory: "
                "choose fewer regions, or read them into a file with zerokin extract --regions "
                "and give it as --features"
            )
        # Half precision while all channels are held; sums are exact enough in double.
        whole = np.concatenate(
            [part.astype(np.float16) for part in self._read(source, quiet=quiet)]
        )
        if self.components and self.components < whole.shape[2]:
            self.mean_, self.directions_ = principal_components(whole, self.components)
        return self._reduced(whole)

    def frame(self, image: Image.Image) -> NDArray[np.uint8]:
        """Return an image as `transform` takes it, (3, side, side)."""
        return resize_to_square(image, self.learner.cache_size, RESIZE_MODE)

    def transform(self, squares: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return features (n, R, d_f) of images (n, 3, side, side), row by row of the grid."""
        source = ResidentSource(torch.from_numpy(squares).to(self.learner.torch_device))
        parts = [self._reduced(part) for part in self._read(source, quiet=True)]
        return np.concatenate(parts) if parts else np.empty((0, self.regions**2, self.width), "f4")

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the reader into a folder that is there."""
        folder = Path(folder)
        about = {
            "format": FORMAT,
            "version": VERSION,
            "written_by": f"zerokin {__version__}",
            "regions": self.regions,
            "components": self.components,
        }
        self.learner.save(folder / NETWORK)
        if self.mean_ is not None and self.directions_ is not None:
            np.savez(folder / ARRAYS, mean=self.mean_, directions=self.directions_)
        (folder / CONFIG).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, device: str | None = None) -> RegionReader:
        """Read what `save` wrote; nothing in the folder is executed."""
        folder = Path(folder)
        about = read_versioned(
            folder / CONFIG,
            what="reader of regions",
            made_by="zerokin fit",
            kind=FORMAT,
            version=VERSION,
        )
        learner = FeatureLearner.load(folder / NETWORK, device=device)
        try:
            regions, components = about["regions"], about["components"]
            if not (is_whole(regions) and is_whole(components)):
                raise ValueError("numbers of regions and components")
            reader = cls(learner, regions=regions, components=components)
            if (folder / ARRAYS).exists():
                reader.mean_, reader.directions_ = _read_components(folder / ARRAYS, reader.width)
        except (KeyError, TypeError, ValueError, OSError, EOFError) as error:
            raise InvalidInput(f"{folder} is no whole reader of regions ({error})") from error
        return reader

    def _read(self, source: ImageSource, *, quiet: bool) -> Any:
        for reading in read_images(self.learner.network_, source, self.view, quiet=quiet):
            features = reading.features.float().cpu().numpy()
            yield features.reshape(len(features), self.regions**2, -1)

    def _reduced(self, features: NDArray[Any]) -> NDArray[np.float32]:
        if self.mean_ is None or self.directions_ is None:
            return features.astype(np.float32)
        n, R, _ = features.shape
        found = np.empty((n, R, self.directions_.shape[1]), np.float32)
        for row in range(n):
            found[row] = (features[row] - self.mean_) @ self.directions_
        return found


def principal_components(
    regions: NDArray[Any], count: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the mean (C,) of regions (N, R, C) and their leading directions (C, count).

    Examples
    --------
    >>> regions = np.array([[[0.0, 1.0], [4.0, 1.0]], [[2.0, 1.0], [2.0, 1.5]]])
    >>> mean, directions = principal_components(regions, 1)
    >>> mean.tolist(), np.abs(directions).round(2).tolist()
    ([2.0, 1.125], [[1.0], [0.0]])
    """
    width = regions.shape[2]
    total, products, n = np.zeros(width), np.zeros((width, width)), 0
    for image in regions:
        rows = image.astype(np.float64)
        n, total, products = n + len(rows), total + rows.sum(axis=0), products + rows.T @ rows
    mean = total / n
    _, directions = np.linalg.eigh(products / n - np.outer(mean, mean))
    return mean.astype(np.float32), directions[:, ::-1][:, :count].astype(np.float32)


def _read_components(path: Path, channels: int) -> tuple[NDArray[Any], NDArray[Any]]:
    with np.load(path, allow_pickle=False) as held:
        mean, directions = held["mean"], held["directions"]
    whole = mean.dtype == directions.dtype == np.float32 and directions.ndim == 2
    if not whole or mean.shape != (channels,) or len(directions) != channels:
        raise ValueError("components that do not fit the network")
    if not (np.isfinite(mean).all() and np.isfinite(directions).all() and directions.size):
        raise ValueError("components that are not finite")
    return mean, directions
