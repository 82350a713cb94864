"""What a handful of shots and a class's semantics say together of where the class lies.

The projected semantics p of a class (unit length) count as κ shots beside its n shots x_1 … x_n:

    prototype = (κ p + Σ x_i) / (κ + n) = w p + (1 − w) x̄,    w = κ / (κ + n)

which is where a Gaussian class is expected whose mean was drawn around p. With no shots this is
the zero-shot prototype; with many, their mean. The base classes that lie nearest to it may lend
their mean b̄ as λ further shots: few shots are known less well than where classes tend to lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.parameters import Integer, Real, check_arguments

Array = NDArray[np.floating[Any]]

SHOTS_WORTH = Real(0, 1e12)
LENDERS = Integer(1)
KAPPA = 1.0
"""κ where none is chosen."""


def semantic_weight(n_shots: Any, kappa: float, trust: Any = 1.0) -> Any:
    """Return w = κ / (κ + n), the weight of projected semantics beside the mean of n shots.

    Parameters
    ----------
    n_shots
        (...) n.
    kappa
        κ.
    trust
        (...) factor of κ for each class (`zerokin.classifiers.few_shot.semantic_trust`).

    Examples
    --------
    >>> semantic_weight(np.array([0, 1, 5]), 1.0).round(2)
    array([1.  , 0.5 , 0.17])
    """
    check_arguments({"kappa": SHOTS_WORTH}, kappa=kappa)
    n_shots, worth = np.broadcast_arrays(
        np.asarray(n_shots, dtype=np.float64), kappa * np.asarray(trust, dtype=np.float64)
    )
    total = n_shots + worth
    return np.divide(worth, total, out=np.zeros_like(total), where=total > 0)


def mixed_prototypes(projected: Array, means: Array, weight: Any) -> Array:
    """Return w p + (1 − w) x̄ for projections and means of shots (..., d_f) and weights (...)."""
    w = np.asarray(weight)[..., None]
    mixed: Array = w * projected + (1 - w) * means
    return mixed


def shot_prototypes(
    projected: Array, means: Array, n_shots: Any, *, usable: Any, kappa: float, trust: Any = 1.0
) -> Array:
    """Return w p + (1 − w) x̄, not yet of unit length; shots alone where there are no semantics.

    Parameters
    ----------
    projected, means
        (..., d_f) zero-shot prototypes p, and means x̄ of shots.
    n_shots
        (...) how many shots there are.
    usable
        (...) whether the class has semantics.
    kappa, trust
        κ, and its factor for each class.
    """
    weight = np.where(usable, semantic_weight(n_shots, kappa, trust), 0.0)
    return mixed_prototypes(projected, means, weight)


def nearest_base(to_base: Array, base_lengths: Array, n_neighbors: int) -> NDArray[np.int64]:
    """Return the base classes (..., k) nearest by angle to prototypes.

    Parameters
    ----------
    to_base
        (..., B) products of prototypes with means of base classes.
    base_lengths
        (B,) lengths of those means.
    n_neighbors
        k, or all base classes if there are fewer.

    Examples
    --------
    >>> nearest_base(np.array([[3.0, 4.0, 0.1]]), np.array([1.0, 2.0, 1.0]), 1)
    array([[0]])
    """
    check_arguments({"base_neighbors": LENDERS}, base_neighbors=n_neighbors)
    cosines = to_base / np.where(base_lengths > 0, base_lengths, 1)
    k = min(n_neighbors, cosines.shape[-1])
    order = np.argpartition(-cosines, k - 1, axis=-1)[..., :k]
    return np.asarray(order, dtype=np.int64)


def with_lent_means(
    prototypes: Array, counts: NDArray[Any], base_means: Array, *, weight: float, n_neighbors: int
) -> Array:
    """Return prototypes (W, d_f), to which the nearest base classes lent their mean.

    Parameters
    ----------
    prototypes
        (W, d_f) w p + (1 − w) x̄.
    counts
        (W,) how many shots each rests on, κ included.
    base_means
        (B, d_f) means of the base classes.
    weight
        λ.
    n_neighbors
        How many base classes lend.
    """
    check_arguments({"base_weight": SHOTS_WORTH}, base_weight=weight)
    if weight == 0 or not len(prototypes):
        return prototypes
    lengths = np.linalg.norm(base_means, axis=1)
    lenders = nearest_base(prototypes @ base_means.T, lengths, n_neighbors)
    share = (weight / (weight + counts))[:, None]
    moved: Array = (1 - share) * prototypes + share * base_means[lenders].mean(axis=1)
    return moved


def combined_scores(
    to_parts: Sequence[Array], part_products: Sequence[Sequence[Array]], weights: Sequence[Any]
) -> Array:
    """Return the cosines of samples with weighted sums of parts, from products alone.

    The sums are never made: the product with a sum is the sum of products, and the square of its
    length is Σ_ij w_i w_j part_i·part_j. So a sweep over weights costs next to nothing.

    Parameters
    ----------
    to_parts
        (..., M, W) products of samples with each of the classes' parts, such as p and x̄.
    part_products
        (..., W) products of part i with part j, for i ≥ j: a lower triangle.
    weights
        Weights of the parts: a number, or one for each class (..., W).
    """
    by_class = (w if np.ndim(w) == 0 else np.asarray(w)[..., None, :] for w in weights)
    total = sum(w * products for w, products in zip(by_class, to_parts, strict=True))
    squares: Any = 0.0
    for i, row in enumerate(part_products):
        for j, products in enumerate(row):
            squares = squares + (1 if i == j else 2) * weights[i] * weights[j] * products
    lengths = np.sqrt(np.clip(squares, np.finfo(np.float32).tiny, None))
    scores: Array = total / lengths[..., None, :]
    return scores
