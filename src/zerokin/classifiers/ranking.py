"""The best few of many scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from zerokin.parameters import Integer, check_arguments


def ranked(scores: NDArray[np.float64], k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the positions (n, k) of the k best scores of each row, best first, and the scores.

    Equal scores are in order of position. Rows have no more than ``k`` of their columns.

    Examples
    --------
    >>> ranked(np.array([[0.1, 0.9, 0.5]]), 2)
    (array([[1, 2]]), array([[0.9, 0.5]]))
    """
    check_arguments({"k": Integer(1)}, k=k)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(scores, order, axis=1)
