"""Classes that are near to everything: how near each prototype is to the seen classes.

In many dimensions some prototypes are nearest to samples of all classes. The mean cosine of a
prototype with the means of its k nearest seen classes measures that, and a share of it is taken
off the class's score. The correction needs no test sample. By Euclidean distance, minus its square
takes the cosine's place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.nearness import Distance, nearness

Matrix = NDArray[np.float64]
BLOCK_BYTES = 2**28  # of nearness to all means; more classes go by blocks


def hubness(
    prototypes: Matrix, means: Matrix, *, n_neighbors: int, distance: Distance = "cosine"
) -> Matrix:
    """Return the mean nearness of each prototype (C, d) to its nearest means (p, d), (C,).

    For cosines both are expected in unit length.

    Examples
    --------
    >>> hubness(np.eye(2), np.array([[1.0, 0.0], [0.6, 0.8]]), n_neighbors=1)
    array([1. , 0.8])
    """
    step = max(1, BLOCK_BYTES // (8 * len(means)))
    if len(prototypes) <= step:
        return mean_of_nearest(nearness(prototypes, means, distance), n_neighbors)
    blocks = (prototypes[start : start + step] for start in range(0, len(prototypes), step))
    return np.concatenate(
        [mean_of_nearest(nearness(block, means, distance), n_neighbors) for block in blocks]
    )


def mean_of_nearest(products: NDArray[Any], n_neighbors: int) -> Matrix:
    """Return the mean (...) of the largest products (..., p), of all if there are fewer."""
    p = products.shape[-1]
    k = min(n_neighbors, p)
    mean: Matrix = np.partition(products, p - k, axis=-1)[..., p - k :].mean(axis=-1)
    return mean
