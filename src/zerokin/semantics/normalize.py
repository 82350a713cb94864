"""The one policy for class vectors: kept raw as read, seen by every method as rows of unit L2 norm.

Files, attribute tables and encoders give class vectors of any length: they are stored as they were
read, so that nothing is lost and other norms can be compared. What every method sees are the same
rows scaled to unit L2 norm; nothing is centered, because a mean over all classes would change
whenever a class is added. A row that has no direction (all zero) or is not finite is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zerokin.errors import InvalidInput, shown


def unit_rows(vectors: ArrayLike, names: Sequence[object]) -> NDArray[np.float64]:
    """Scale every class vector to unit L2 norm.

    Parameters
    ----------
    vectors : (C, d_z)
        Class vectors as read.
    names : C names
        What an error calls the rows.

    Returns
    -------
    (C, d_z) float64
        Rows of unit norm; the input is left as it is.

    Raises
    ------
    InvalidInput
        If any class has a zero, NaN or infinite row: the message names them all.

    Examples
    --------
    >>> unit_rows([[3, 4], [0, -2]], ["finch", "whale"])
    array([[ 0.6,  0.8],
           [ 0. , -1. ]])
    >>> unit_rows([[3, 4], [0, 0]], ["finch", "whale"])
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: class vectors without a direction: all zero for 'whale'; give ...
    """
    rows = _matrix(vectors)
    if not hasattr(names, "__len__"):
        raise InvalidInput(f"names must be a list of class names: got {shown(names)}")
    if len(rows) != len(names):
        raise InvalidInput(f"{len(rows):,} class vectors for {len(names):,} class names")
    # Scaled by the largest entry first: the squares of 1e200 or 1e-200 are no float64.
    largest = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
    finite = np.isfinite(largest[:, 0])
    zero = largest[:, 0] == 0
    if zero.any() or not finite.all():
        lists = []
        for fault, where in (("all zero", zero), ("NaN or infinite", ~finite)):
            at_fault = [repr(str(names[row])) for row in np.flatnonzero(where).tolist()]
            lists += [f"{fault} for {', '.join(at_fault)}"] if at_fault else []
        raise InvalidInput(
            f"class vectors without a direction: {'; '.join(lists)}; "
            "give these classes other vectors or leave them out"
        )
    scaled = rows / largest
    unit: NDArray[np.float64] = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    return unit


def _matrix(vectors: ArrayLike) -> NDArray[np.float64]:
    try:
        raw: NDArray[Any] = np.asarray(vectors)
    except ValueError as error:
        raise InvalidInput("class vectors must all have the same length") from error
    if raw.ndim != 2 or raw.shape[1] == 0:
        raise InvalidInput(f"class vectors must be a matrix (C, d_z), not of shape {raw.shape}")
    if raw.dtype.kind not in "biuf":
        raise InvalidInput(f"class vectors must be real numbers, not {raw.dtype}")
    return raw.astype(np.float64)
