"""A small data set in mini-ImageNet's shape: training, validation and test classes."""

from __future__ import annotations

import numpy as np

from zerokin.data import ClassTable, Dataset
from zerokin.data.provenance import Provenance
from zerokin.data.splits import split_by_class


def clustered_dataset(
    n_train=12, n_validation=6, n_test=7, per_class=20, d_z=6, d_f=24, noise=0.8, seed=0
):
    """Class centers are linear in the semantics but for some noise of their own."""
    rng = np.random.default_rng(seed)
    n_classes = n_train + n_validation + n_test
    Z = rng.normal(size=(n_classes, d_z))
    centers = Z @ rng.normal(size=(d_z, d_f)) / np.sqrt(d_z) + 0.5 * rng.normal(
        size=(n_classes, d_f)
    )
    labels = rng.permutation(np.repeat(np.arange(n_classes), per_class))
    features = centers[labels] + noise * rng.normal(size=(len(labels), d_f))
    place = np.arange(n_classes)
    split = split_by_class(
        labels,
        place >= n_train + n_validation,
        version="made up",
        folds=((place >= n_train) & (place < n_train + n_validation),),
        folds_version="public",
    )
    return Dataset(
        name="made",
        classes=ClassTable(tuple(f"class {k}" for k in range(n_classes)), Z),
        inputs=features.astype(np.float32),
        labels=labels,
        splits={"few-shot": split},
        provenance=Provenance("made", "made"),
    )
