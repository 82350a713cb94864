"""What a handful of shots and a class's semantics say together of where the class lies.

The projected semantics p of a class (unit length) count as κ shots beside its n shots x_1 … x_n:

    prototype = (κ p + Σ x_i) / (κ + n) = w p + (1 − w) x̄,    w = κ / (κ + n)

which is where a Gaussian class is expected whose mean was drawn around p. With no shots this is
the zero-shot prototype; with many, their mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput

Array = NDArray[np.floating[Any]]


def semantic_weight(n_shots: Any, kappa: float) -> Any:
    """Return w = κ / (κ + n), the weight of projected semantics beside the mean of n shots.

    Examples
    --------
    >>> semantic_weight(np.array([0, 1, 5]), 1.0).round(2)
    array([1.  , 0.5 , 0.17])
    """
    if not 0 <= kappa < np.inf:
        raise InvalidInput(f"kappa must be a number of at least 0: got {kappa}")
    n_shots = np.asarray(n_shots, dtype=np.float64)
    return np.divide(kappa, kappa + n_shots, out=np.zeros_like(n_shots), where=n_shots + kappa > 0)


def mixed_prototypes(projected: Array, means: Array, weight: Any) -> Array:
    """Return unit prototypes (..., d_f) between projected semantics and means of shots.

    Parameters
    ----------
    projected
        (..., d_f) unit projections of the classes' semantics.
    means
        (..., d_f) means of their shots.
    weight
        (...) w of each class.
    """
    w = np.asarray(weight)[..., None]
    mixed = w * projected + (1 - w) * means
    lengths = np.linalg.norm(mixed, axis=-1, keepdims=True)
    unit: Array = mixed / np.where(lengths > 0, lengths, 1)
    return unit


def mixed_scores(
    to_projected: Array,
    to_means: Array,
    means_to_projected: Array,
    mean_squares: Array,
    weight: float,
) -> Array:
    """Return the cosines of samples with `mixed_prototypes`, from products alone.

    The prototypes are never made: with p of unit length, ‖w p + (1 − w) x̄‖² is
    w² + 2 w (1 − w) p·x̄ + (1 − w)² ‖x̄‖². So a sweep over w costs next to nothing.

    Parameters
    ----------
    to_projected, to_means
        (..., M, W) products of samples with projected semantics and with means of shots.
    means_to_projected, mean_squares
        (..., W) p·x̄ and ‖x̄‖² of every class.
    weight
        w.
    """
    rest = 1 - weight
    squares = weight**2 + 2 * weight * rest * means_to_projected + rest**2 * mean_squares
    lengths = np.sqrt(np.clip(squares, np.finfo(np.float32).tiny, None))
    scores: Array = (weight * to_projected + rest * to_means) / lengths[..., None, :]
    return scores
