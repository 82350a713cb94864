"""Classes that are near to everything: how near each prototype is to the seen classes.

In many dimensions some prototypes are nearest to samples of all classes. The mean cosine of a
prototype with the means of its k nearest seen classes measures that, and a share of it is taken
off the class's score. The correction needs no test sample.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def hubness(prototypes: Matrix, means: Matrix, *, n_neighbors: int) -> Matrix:
    """Return the mean product of each prototype (C, d) with its nearest means (p, d), (C,).

    Both are expected in unit length, so that products are cosines.

    Examples
    --------
    >>> hubness(np.eye(2), np.array([[1.0, 0.0], [0.6, 0.8]]), n_neighbors=1)
    array([1. , 0.8])
    """
    k = min(n_neighbors, len(means))
    products = prototypes @ means.T
    nearest = np.partition(products, len(means) - k, axis=1)[:, len(means) - k :]
    mean: Matrix = nearest.mean(axis=1)
    return mean
