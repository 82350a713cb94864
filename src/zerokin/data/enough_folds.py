"""Whether a data set is large enough for something to be chosen on held-out classes."""

from __future__ import annotations

import numpy as np

from zerokin.data.dataset import Dataset

LEAST_VALIDATION_CLASSES = 2


def enough_folds(dataset: Dataset) -> bool:
    """Tell whether every fold has two classes to tell apart and seen images to hold out."""
    folds = dataset.split.folds
    return bool(folds) and all(
        np.count_nonzero(fold) >= LEAST_VALIDATION_CLASSES
        and len(dataset.fold(number).split.test_seen)
        for number, fold in enumerate(folds, start=1)
    )
