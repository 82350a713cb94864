"""Critters, the embedded data set, as a `Dataset`: images are drawn when asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from zerokin._version import __version__
from zerokin.critters import (
    ATTRIBUTE_NAMES,
    IMAGES_PER_SPECIES,
    SPECIES,
    attribute_matrix,
    render,
    validation_folds,
)
from zerokin.data.classes import ClassTable
from zerokin.data.dataset import Dataset
from zerokin.data.images import Images
from zerokin.data.provenance import Provenance
from zerokin.data.splits import Split

TEST_IMAGES = IMAGES_PER_SPECIES // 5


class CritterImages(Images):
    """The images of all species, one species after the other."""

    def __init__(self) -> None:
        self.names = [
            f"{species.name}/{index:03d}.png"
            for species in SPECIES
            for index in range(IMAGES_PER_SPECIES)
        ]

    def array(self, index: int) -> NDArray[np.uint8]:
        species, image = divmod(index, IMAGES_PER_SPECIES)
        return render(SPECIES[species], image)

    def load(self, index: int) -> Image.Image:
        return Image.fromarray(self.array(index))


def critters_classes() -> ClassTable:
    """Return the class table of the sixty species."""
    return ClassTable(
        names=tuple(species.name for species in SPECIES),
        vectors=attribute_matrix(),
        semantics_source="attributes",
        attribute_names=ATTRIBUTE_NAMES,
        taxonomy=tuple((species.order, species.family) for species in SPECIES),
        taxonomy_ranks=("order", "family"),
    )


def read_critters(source: str, _folder: Path) -> Dataset:
    """Open Critters; of each seen species' images the last fifth are held out for testing."""
    names = [species.name for species in SPECIES]
    unseen = np.array([species.unseen for species in SPECIES])
    labels = np.repeat(np.arange(len(SPECIES)), IMAGES_PER_SPECIES)
    number = np.tile(np.arange(IMAGES_PER_SPECIES), len(SPECIES))
    held = number >= IMAGES_PER_SPECIES - TEST_IMAGES
    return Dataset(
        name="Critters",
        classes=critters_classes(),
        inputs=CritterImages(),
        labels=labels,
        splits={
            "pure": Split(
                version="Critters 1",
                unseen=unseen,
                train=np.flatnonzero(~unseen[labels] & ~held),
                test_seen=np.flatnonzero(~unseen[labels] & held),
                test_unseen=np.flatnonzero(unseen[labels]),
                folds=tuple(np.isin(names, fold) for fold in validation_folds()),
                folds_version="spread over families",
            )
        },
        provenance=Provenance(source, f"drawn by zerokin {__version__}"),
    )
