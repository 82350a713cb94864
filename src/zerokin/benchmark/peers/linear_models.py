"""Many linear classifiers at once: convex losses with a ridge, by L-BFGS.

DAP's logistic regressions, ConSE's softmax regression and SynC's support vector machines all are

    min over W (d_f, k), b (k,):   Σ_n ℓ_n(f_n W + b) + ridge/2 ‖W‖²

for a loss ℓ whose second derivative is about a known curvature c. In coordinates in which
c FᵀF + ridge·I is the identity the first step is about right, and a few dozen of L-BFGS (Nocedal,
Mathematics of Computation 1980) reach the minimum. The features are centered first: then the bias,
which has no ridge, no longer depends on W.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zerokin.benchmark.peers.training_set import (
    Array,
    Samples,
    TrainingSet,
    symmetric_spectrum,
)
from zerokin.compute.products import quick_products

if TYPE_CHECKING:
    from torch import Tensor

    # Scores (N, k) → gradient of the summed loss with respect to them (N, k).
    Gradient = Callable[[Tensor], Tensor]


MEMORY = 8
"""Steps that L-BFGS remembers."""

STEEP = 0.5
"""How steeply the loss may rise at the end of a step, in units of how it falls at the start."""

MOST_CUTS = 10


def fit_linear_models(
    training: TrainingSet,
    gradient: Gradient,
    n_models: int,
    *,
    curvature: float,
    ridge: float,
    max_iter: int = 100,
    tol: float = 3e-3,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return W (d_f, k) and b (k,) of k linear models of the training features.

    Parameters
    ----------
    training
        Where the features are; what its fits share is made once.
    gradient
        From scores (N, k) to the gradient (N, k) of the loss summed over samples and models.
    n_models
        k.
    curvature
        About the second derivative of a sample's loss in a direction of its scores.
    ridge
        Weight of ‖W‖²/2.
    max_iter
        Most steps.
    tol
        Stop when the gradient has become this much shorter than the first one.
    """
    import torch

    mean, eigenvalues, U, rotated = coordinates_of(training.samples)
    lengths = torch.from_numpy((curvature * eigenvalues + ridge) ** -0.5)
    bias = torch.full((len(rotated), 1), (curvature * len(rotated)) ** -0.5)
    X = torch.cat([rotated * lengths.float(), bias], dim=1)
    decay = torch.cat([ridge * lengths**2, torch.zeros(1)]).float()[:, None]

    def slope(V: Tensor, scores: Tensor) -> Tensor:
        return torch.addmm(decay * V, X.T, gradient(scores))

    with quick_products():
        V = minimize(slope, X, n_models, max_iter=max_iter, tol=tol)
    W = U @ (lengths[:, None] * V[:-1].double()).numpy()
    return W, (V[-1] * bias[0, 0]).double().numpy() - mean @ W


def minimize(
    slope: Callable[[Tensor, Tensor], Tensor],
    X: Tensor,
    n_models: int,
    *,
    max_iter: int,
    tol: float,
) -> Tensor:
    """Return V (d, k) at which a convex loss of the scores X V and of V is least, by L-BFGS.

    Scores are carried along, so that a step costs one product with X and one with Xᵀ. A step that
    overshoots, so that the loss rises steeply at its end, is cut by the secant rule.

    Parameters
    ----------
    slope
        From V and its scores (n, k) to the gradient (d, k).
    X : (n, d)
        What scores are made with.
    n_models
        k.
    max_iter, tol
        As for `fit_linear_models`.
    """
    import torch

    V, scores = torch.zeros(X.shape[1], n_models), torch.zeros(len(X), n_models)
    steepest = slope(V, scores)
    first = float(steepest.norm())
    past: deque[tuple[Tensor, Tensor, float]] = deque(maxlen=MEMORY)
    for _ in range(max_iter):
        direction = _downhill(steepest, past)
        change = X @ direction
        before, length = float((steepest * direction).sum()), 1.0
        for _ in range(MOST_CUTS):
            found = slope(V + length * direction, scores + length * change)
            after = float((found * direction).sum())
            if after <= STEEP * -before:
                break
            length *= before / (before - after)
        step, bend = length * direction, found - steepest
        V, scores, steepest = V + step, scores.add_(change, alpha=length), found
        along = float((step * bend).sum())
        if along > 0:
            past.append((step, bend, 1 / along))
        if float(steepest.norm()) <= tol * first:
            break
    return V


def _downhill(steepest: Tensor, past: Sequence[tuple[Tensor, Tensor, float]]) -> Tensor:
    """Return L-BFGS's direction: minus the gradient, times an inverse Hessian of past steps."""
    direction = -steepest
    shares = []
    for step, bend, scale in reversed(past):
        shares.append(scale * float((step * direction).sum()))
        direction.sub_(bend, alpha=shares[-1])
    if past:
        _, bend, scale = past[-1]
        direction /= scale * float((bend * bend).sum())
    for (step, bend, scale), share in zip(past, reversed(shares), strict=True):
        direction.add_(step, alpha=share - scale * float((bend * direction).sum()))
    return direction


class Coordinates(NamedTuple):
    """Features (f − mean) U, written along eigenvectors of a scatter."""

    mean: Array
    """(d_f,)"""
    eigenvalues: Array
    """(d_f,)"""
    U: Array
    """(d_f, d_f)"""
    rotated: Tensor
    """(N, d_f) in float32"""


def coordinates_of(samples: Samples) -> Coordinates:
    """Return samples centered and along the eigenvectors of their scatter, made once."""
    return samples.once("coordinates", lambda: _own_coordinates(samples))


def add_samples(samples: Samples, added: Array, joined: Samples) -> None:
    """Give samples and those added to them (n, d_f), joined, the coordinates of the samples.

    A minimum is the same in any coordinates; one factorization then serves all that is added.
    """
    import torch

    def coordinates() -> Coordinates:
        known = coordinates_of(samples)
        rotated = _rotated(added, known.mean, known.U)
        return known._replace(rotated=torch.cat([known.rotated, rotated]))

    joined.once("coordinates", coordinates)


def _own_coordinates(samples: Samples) -> Coordinates:
    total = samples.class_sums.sum(axis=0)
    mean = total / len(samples.F)
    eigenvalues, U = symmetric_spectrum(samples.gram - np.outer(total, mean))
    return Coordinates(mean, eigenvalues, U, _rotated(samples.F, mean, U))


def _rotated(F: Array, mean: Array, U: Array) -> Tensor:
    import torch

    centered = torch.from_numpy(F - mean.astype(F.dtype)).float()
    with quick_products():
        rotated: Tensor = centered @ torch.from_numpy(U).float()
    return rotated
