"""The simplest recognizer: the class whose semantic vector is nearest by angle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput, shown
from zerokin.features.scaler import unit_length
from zerokin.matrices import finite_matrix, real_array


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
    samples, nodes = finite_matrix(projected, "projected"), finite_matrix(prototypes, "prototypes")
    if samples.shape[1] != nodes.shape[1]:
        raise InvalidInput(
            f"projected has {samples.shape[1]} columns, but prototypes {nodes.shape[1]}: samples "
            "must be in the space of the prototypes"
        )
    cosines: NDArray[np.floating] = unit_length(samples) @ unit_length(nodes).T
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
    nodes = finite_matrix(prototypes, "prototypes")
    chosen = real_array(candidates, "candidates", "positions of classes")
    if (
        chosen.ndim != 1
        or not len(chosen)
        or chosen.dtype.kind not in "iu"
        or chosen.min() < 0
        or chosen.max() >= len(nodes)
    ):
        raise InvalidInput(
            f"candidates must be one or more positions of classes, 0 to {len(nodes) - 1}: got "
            f"{shown(candidates)}"
        )
    best = cosine_scores(projected, nodes[chosen]).argmax(axis=1)
    named: NDArray[np.int64] = chosen[best]
    return named
