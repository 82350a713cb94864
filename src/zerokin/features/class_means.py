"""The mean feature of every class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.compute.processes import ALONE, Processes
from zerokin.features.row_sources import blocks_of


def class_means(
    F: Any,
    labels: NDArray[np.integer],
    n_classes: int,
    processes: Processes = ALONE,
) -> NDArray[np.float64]:
    """Return the mean of the features (N, d_f) of each class, (C, d_f); zeros for a class without.

    Features in files are read by blocks. Of several processes each gives its own rows, and all
    get the means of all rows.

    Examples
    --------
    >>> class_means(np.array([[1.0], [3.0], [7.0]]), np.array([2, 2, 0]), 3)
    array([[7.],
           [0.],
           [2.]])
    """
    from scipy.sparse import csr_array

    counts = processes.sum(np.bincount(labels, minlength=n_classes))
    # A sparse product sums without a sorted copy of F.
    member = csr_array(
        (1 / counts[labels], (labels, np.arange(len(labels)))), shape=(n_classes, len(labels))
    )
    means: Any = 0.0
    for rows in blocks_of(F):
        means = means + member[:, rows] @ F[rows]
    total: NDArray[np.float64] = processes.sum(means)
    return total
