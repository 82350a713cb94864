"""Choosing on few classes: more folds than the data brings, and fewer things to choose.

With 20 seen classes three folds hold out 18, and the best of a hundred trials on them is the
luckiest one. So folds are drawn again until more classes have been held out (repeated
cross-validation), and a method may take part with a smaller search.
"""

from __future__ import annotations

from zerokin.data.dataset import Dataset

FEW_CLASSES = 60
HELD_OUT = 36


def has_few_classes(dataset: Dataset) -> bool:
    """Tell whether the seen classes are few, and folds are not given with the data."""
    return dataset.split.folds_drawn and len(dataset.seen) < FEW_CLASSES


def validation_folds(dataset: Dataset, *, seed: int) -> list[Dataset]:
    """Return the folds to choose on: those of the data set, or repeated ones of few classes."""
    repeated: list[Dataset] = []
    if has_few_classes(dataset):
        repeated = dataset.repeated_folds(held_out=HELD_OUT, seed=seed)
    numbers = range(1, len(dataset.split.folds) + 1)
    return repeated or [dataset.fold(number, seed=seed) for number in numbers]
