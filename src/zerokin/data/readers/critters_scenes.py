"""Critters scenes: images of two to five different animals, drawn when asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from zerokin._version import __version__
from zerokin.critters import SPECIES, render_group, validation_folds
from zerokin.critters.group import FEWEST, MOST, Group
from zerokin.data.images import Images
from zerokin.data.label_rows import sparse_labels
from zerokin.data.multi_label import MultiLabelDataset
from zerokin.data.provenance import Provenance
from zerokin.data.readers.critters import critters_classes
from zerokin.data.readers.label_splits import multi_label_split
from zerokin.data.readers.split_files import Folds

TRAIN_SCENES, TEST_SCENES = 1800, 900
SIZE = 128
SEED = 0


class SceneImages(Images):
    """The scenes, those to train on first.

    Which species meet is drawn alike for all: neither the place nor the company tells who an animal
    is. Scenes to train on show seen species alone; the others show any.

    Attributes
    ----------
    animals : for every scene the positions of its species
    """

    def __init__(self) -> None:
        self.names = [
            *(f"train/{index:04d}.png" for index in range(TRAIN_SCENES)),
            *(f"test/{index:04d}.png" for index in range(TEST_SCENES)),
        ]
        seen = np.flatnonzero([not species.unseen for species in SPECIES])
        everyone = np.arange(len(SPECIES))
        self.animals = [
            _drawn(index, seen if index < TRAIN_SCENES else everyone) for index in range(len(self))
        ]

    def array(self, index: int) -> NDArray[np.uint8]:
        return self._group(index).image

    def load(self, index: int) -> Image.Image:
        return Image.fromarray(self.array(index))

    def boxes(self, index: int) -> NDArray[np.float64]:
        """Return where each of a scene's animals is: left, top, right, bottom, 0 to 1, (k, 4)."""
        return self._group(index).boxes

    def _group(self, index: int) -> Group:
        species = [SPECIES[number] for number in self.animals[index].tolist()]
        return render_group(species, index, SEED, SIZE)


def _drawn(index: int, pool: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the species of one scene."""
    rng = np.random.Generator(np.random.PCG64([SEED, index]))
    return rng.choice(pool, rng.integers(FEWEST, MOST + 1), replace=False)


def read_critters_scenes(source: str, _folder: Path) -> MultiLabelDataset:
    """Open Critters scenes."""
    images, classes = SceneImages(), critters_classes()
    unseen = np.array([species.unseen for species in SPECIES])
    ends = np.concatenate([[0], np.cumsum([len(animals) for animals in images.animals])])
    labels = sparse_labels(np.concatenate(images.animals), ends, len(SPECIES))
    folds = tuple(np.isin(classes.names, fold) for fold in validation_folds())
    split = multi_label_split(
        labels,
        unseen,
        np.arange(len(images)) >= TRAIN_SCENES,
        version="Critters scenes 1",
        folds=Folds(folds, "spread over families"),
    )
    return MultiLabelDataset(
        name="Critters scenes",
        classes=classes,
        inputs=images,
        labels=labels,
        splits={"pure": split},
        provenance=Provenance(source, f"drawn by zerokin {__version__}"),
    )
