"""Accuracies as the field defines them, in percent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def top1(truth: NDArray[np.int64], predicted: NDArray[np.int64]) -> float:
    """Return the share of samples that are right: the standard setting's measure.

    Examples
    --------
    >>> top1(np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0]))
    75.0
    """
    return float(100 * np.mean(truth == predicted))


def per_class_top1(truth: NDArray[np.int64], predicted: NDArray[np.int64]) -> float:
    """Return the mean over classes of the share of their samples that are right.

    Every class counts alike, however many samples it has: the pure setting's measure.

    Examples
    --------
    >>> per_class_top1(np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0]))
    50.0
    """
    _, members = np.unique(truth, return_inverse=True)
    right = np.bincount(members, weights=truth == predicted)
    return float(100 * np.mean(right / np.bincount(members)))
