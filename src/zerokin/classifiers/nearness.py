"""Nearness of samples and prototypes in feature space: cosine, or Euclidean distance."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Distance = Literal["cosine", "euclidean"]
Matrix = NDArray[np.float64]


def nearness(samples: NDArray[Any], prototypes: Matrix, distance: Distance = "cosine") -> Matrix:
    """Return how near each sample (n, d) is to each prototype (k, d), (n, k): higher is nearer.

    Parameters
    ----------
    samples, prototypes
        In feature space; for cosines, both of unit length.
    distance
        ``"cosine"``: their products. ``"euclidean"``: minus their squared Euclidean distance.

    Examples
    --------
    >>> F, P = np.array([[3.0, 4.0]]), np.array([[0.0, 0.0], [3.0, 5.0]])
    >>> nearness(F, P, "euclidean")
    array([[-25.,  -1.]])
    """
    products: Matrix = samples @ prototypes.T
    if distance == "cosine":
        return products
    samples = samples.astype(np.float64, copy=False)
    squares = (samples**2).sum(axis=1)[:, None] + (prototypes**2).sum(axis=1)
    near: Matrix = np.minimum(2 * products - squares, 0)
    return near
