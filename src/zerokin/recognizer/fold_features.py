"""Features whose validation folds may come from networks that never saw the fold's classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from zerokin.data.dataset import Dataset
from zerokin.data.feature_files import FeatureFile

Features = NDArray[np.float32]


class FoldFeatures(Dataset):
    """A data set of pictures with features in their place.

    Parameters
    ----------
    dataset
        The pictures.
    features
        (N, d_f), in memory or in a file, by the network that all seen classes trained.
    of_folds
        For every validation fold, (N, d_f) by a network that was trained without it; none to use
        ``features`` for folds, too.
    """

    def __init__(
        self, dataset: Dataset, features: Features | FeatureFile, of_folds: Sequence[Features] = ()
    ) -> None:
        super().__init__(
            name=dataset.name,
            classes=dataset.classes,
            inputs=features,
            labels=dataset._labels,
            splits=dataset.splits,
            provenance=dataset.provenance,
            split=dataset.split_name,
        )
        self.of_folds = tuple(of_folds)

    def fold(self, number: int, *, test_seen: float = 0.2, seed: int = 0) -> Dataset:
        """Return a validation fold with the features that belong to it."""
        whole = super().fold(number, test_seen=test_seen, seed=seed)
        return whole.with_inputs(self.of_folds[number - 1]) if self.of_folds else whole
