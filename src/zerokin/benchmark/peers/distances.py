"""Squared distances and cosines between rows."""

from __future__ import annotations

import numpy as np

from zerokin.benchmark.peers.training_set import Array
from zerokin.features.scaler import unit_length


def squared_distances(A: Array, B: Array) -> Array:
    """Return the squared distances of rows (n, d) from rows (m, d) as (n, m).

    Examples
    --------
    >>> import numpy as np
    >>> squared_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([[25.,  1.]])
    """
    squares: Array = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * A @ B.T
    return squares.clip(0)


def cosines(A: Array, B: Array) -> Array:
    """Return the cosines of rows (n, d) with rows (m, d) as (n, m); zero for a row of zeros.

    Many rows of A are divided by their lengths once they are products, which are fewer numbers.

    Examples
    --------
    >>> import numpy as np
    >>> cosines(np.array([[0.0, 2.0], [0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([[0.8, 1. ],
           [0. , 0. ]])
    """
    directions = unit_length(B).T
    squares = np.einsum("ij,ij->i", A, A)[:, None]
    if squares.min(initial=1.0) > np.finfo(squares.dtype).tiny and np.isfinite(squares).all():
        found: Array = (A @ directions) / np.sqrt(squares)
    else:
        found = unit_length(A) @ directions
    return found
