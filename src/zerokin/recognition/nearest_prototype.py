"""The simplest recogniser: the class whose semantic vector is nearest by angle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from zerokin.features.normaliser import unit_length


def cosine_scores(
    projected: NDArray[np.floating], prototypes: NDArray[np.floating]
) -> NDArray[np.floating]:
    """Return the cosine of every sample with every prototype, (N, K).

    A sample or prototype of length zero scores zero with all.

    Parameters
    ----------
    projected
        (N, d) samples, in the space of the prototypes.
    prototypes
        (K, d) vectors.
    """
    cosines: NDArray[np.floating] = unit_length(projected) @ unit_length(prototypes).T
    return cosines


def nearest_prototype(
    projected: NDArray[np.floating],
    prototypes: NDArray[np.floating],
    candidates: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return for every sample the candidate class whose prototype is nearest by angle, (N,).

    Parameters
    ----------
    projected
        (N, d) samples, in the space of the prototypes.
    prototypes
        (C, d) vectors of all classes.
    candidates
        (k,) positions of the classes to choose from.

    Examples
    --------
    >>> nearest_prototype(np.array([[0.9, 0.2]]), np.eye(2), np.array([0, 1]))
    array([0])
    >>> nearest_prototype(np.array([[0.9, 0.2]]), np.eye(2), np.array([1]))
    array([1])
    """
    best = cosine_scores(projected, prototypes[candidates]).argmax(axis=1)
    named: NDArray[np.int64] = candidates[best]
    return named
