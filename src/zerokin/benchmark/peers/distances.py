"""Squared distances between rows."""

from __future__ import annotations

from zerokin.benchmark.peers.training_set import Array


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
