"""Labels of several a sample as a user gives them: a matrix of 0 and 1, or lists of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.class_labels import KnownClasses
from zerokin.data.label_rows import label_matrix_of
from zerokin.errors import InvalidInput
from zerokin.metrics.multi_label import label_matrix


def given_labels(Y: Any, classes: KnownClasses, n: int) -> NDArray[np.bool_]:
    """Return labels (n, C).

    An array, dense or sparse, has a column for each class. A list has a list of classes for each
    sample, by name, or by position where classes have no names.
    """
    if hasattr(Y, "toarray"):
        Y = Y.toarray()
    if isinstance(Y, list | tuple):
        labels: NDArray[np.bool_] = label_matrix_of(Y, classes.names.tolist()).toarray()
    else:
        labels = label_matrix(Y, "Y")
        if labels.shape[1] != len(classes):
            raise InvalidInput(
                f"Y has {labels.shape[1]} columns, but there are {len(classes)} classes: give one "
                "for each"
            )
        bare = np.flatnonzero(~labels.any(axis=1))
        if len(bare):
            raise InvalidInput(
                f"Y: sample {bare[0]} has no label ({len(bare):,} such samples): label it, or "
                "leave it out"
            )
    if len(labels) != n:
        raise InvalidInput(f"X has {n:,} samples, but Y has {len(labels):,}")
    return labels
