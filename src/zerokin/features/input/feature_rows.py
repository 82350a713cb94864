"""Rows of ready features, named and hashed as extraction knows images."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from zerokin.data.dataset import Dataset
from zerokin.errors import InvalidInput


class FeatureRows:
    """The ready features of a data set, a row for each sample.

    Parameters
    ----------
    dataset
        Features. Where their file names no images, names are empty.
    """

    names: Sequence[str]

    def __init__(self, dataset: Dataset) -> None:
        self.features = dataset.features
        self.source = dataset.provenance.source
        self.names = getattr(dataset.inputs, "names", None) or [""] * len(dataset)

    def __len__(self) -> int:
        return len(self.names)

    def digest(self, index: int) -> bytes:
        """Return the SHA-256 of a row, as float32."""
        return hashlib.sha256(np.array(self.features[index], np.float32).tobytes()).digest()

    def file(self, index: int) -> Path | None:
        """Return None: a row has no file of its own."""
        del index
        return None

    def refuse_unnamed(self) -> None:
        """Refuse features that name no images: a file of ours is checked by their names."""
        if not any(self.names):
            raise InvalidInput(
                f"{self.source} holds features that name no images, by which a feature file is "
                "checked: write the xlsa17 form (--format xlsa17)"
            )
