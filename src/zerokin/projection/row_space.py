"""Semantics as a few distinct prototypes in coordinates of the space they span.

E and W never leave the row space of E⁰: both steps only combine its rows. Its rank is at most
the number of distinct prototypes, so a layer of ten superclasses is a ten-column problem.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zerokin.errors import InvalidInput
from zerokin.projection.arrays import row_blocks


def distinct_rows(E: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Write per-sample semantics as prototypes and labels: ``E == prototypes[labels]``.

    Parameters
    ----------
    E : array (N, d_z)

    Returns
    -------
    prototypes : array (P, d_z)
    labels : array (N,) of int

    Examples
    --------
    >>> import numpy as np
    >>> prototypes, labels = distinct_rows(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]))
    >>> prototypes[labels]
    array([[1., 2.],
           [3., 4.],
           [1., 2.]])
    >>> len(prototypes)
    2
    """
    # Sorting one random combination of the columns is much cheaper than sorting whole rows;
    # the comparison makes sure that equal keys did mean equal rows.
    mix = np.random.default_rng(0).standard_normal(E.shape[1])
    _, first, labels = np.unique(
        np.einsum("ij,j->i", E, mix), return_index=True, return_inverse=True
    )
    if len(first) == len(E):
        return E, np.arange(len(E))
    prototypes = E[first]
    if all(np.array_equal(prototypes[labels[rows]], E[rows]) for rows in row_blocks(len(E))):
        return prototypes, labels
    prototypes, labels = np.unique(E, axis=0, return_inverse=True)
    return prototypes, labels.reshape(-1)


def row_space(prototypes: np.ndarray, dtype: str = "float64") -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of prototypes in an orthonormal basis of the space they span.

    Parameters
    ----------
    prototypes : array (P, d_z)
    dtype
        Type of the coordinates.

    Returns
    -------
    coordinates : array (P, r)
        With r the rank; ``prototypes == coordinates @ basis``.
    basis : array (r, d_z)
        Orthonormal rows, float64.

    Examples
    --------
    >>> import numpy as np
    >>> coordinates, basis = row_space(np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]]))
    >>> basis.shape, (coordinates @ basis).round(12)
    ((1, 3), array([[1., 1., 0.],
           [2., 2., 0.]]))
    """
    # The triangle of a QR decomposition, grown by blocks of rows, has the same singular values
    # and right vectors as all the rows.
    triangle: Any = np.empty((0, prototypes.shape[1]))
    for rows in row_blocks(len(prototypes)):
        triangle = np.linalg.qr(np.vstack([triangle, prototypes[rows]]), mode="r")
    _, singular, right = np.linalg.svd(triangle, full_matrices=False)
    smallest = max(prototypes.shape) * np.finfo(np.float64).eps * singular[0]
    rank = int(np.sum(singular > smallest))
    if rank == 0:
        raise InvalidInput("E is zero everywhere: semantics need at least one value")
    basis = right[:rank]
    coordinates = np.empty((len(prototypes), rank), dtype)
    for rows in row_blocks(len(prototypes)):
        coordinates[rows] = prototypes[rows] @ basis.T
    return coordinates, basis
