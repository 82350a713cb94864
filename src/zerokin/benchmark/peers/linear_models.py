"""Many linear classifiers at once: convex losses with a ridge, by accelerated descent or L-BFGS.

DAP's logistic regressions, ConSE's softmax regression and SynC's support vector machines all are

    min over W (d_f, k), b (k,):   Σ_n ℓ_n(f_n W + b) + ridge/2 ‖W‖²

for a loss ℓ whose second derivative is at most a known curvature c. In coordinates in which
c FᵀF + ridge·I is the identity a gradient step of length one never overshoots, and a few dozen
accelerated ones reach the minimum. The features are centered first: then the bias, which has no
ridge, no longer depends on W. Where that bound is far from what losses have, as a softmax's over
many classes is, L-BFGS takes a third of the steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zerokin.benchmark.peers.lbfgs import minimize
from zerokin.benchmark.peers.training_set import (
    Array,
    Samples,
    TrainingSet,
    row_spectrum,
)

if TYPE_CHECKING:
    from torch import Tensor

    # Scores (N, k) → gradient of the summed loss with respect to them (N, k).
    Gradient = Callable[[Tensor], Tensor]


def fit_linear_models(
    training: TrainingSet,
    gradient: Gradient,
    n_models: int,
    *,
    curvature: float,
    ridge: float,
    bounded: bool = True,
    max_iter: int = 100,
    tol: float = 1e-3,
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
        Of a sample's loss in a direction of its scores: the second derivative.
    bounded
        Whether that is a bound in any direction, or a typical value: L-BFGS is taken then.
    ridge
        Weight of ‖W‖²/2.
    max_iter
        Most steps.
    tol
        Stop when a gradient has become this much shorter than the first one.
    """
    import torch

    mean, eigenvalues, U, rotated = coordinates_of(training.samples)
    lengths = torch.from_numpy((curvature * eigenvalues + ridge) ** -0.5)
    X = rotated * lengths.float()
    decay = (ridge * lengths**2).float()[:, None]
    solve = _accelerated if bounded else _by_lbfgs
    bias_step = 1 / (curvature * len(X))
    V, b = solve(X, decay, gradient, n_models, bias_step=bias_step, max_iter=max_iter, tol=tol)
    W = U @ (lengths[:, None] * V.double()).numpy()
    return W, b.double().numpy() - mean @ W


def _accelerated(
    X: Tensor,
    decay: Tensor,
    gradient: Gradient,
    n_models: int,
    *,
    bias_step: float,
    max_iter: int,
    tol: float,
) -> tuple[Tensor, Tensor]:
    """Return V (d_f, k) and b (k,) by accelerated gradients, whose steps never overshoot."""
    import torch

    V = previous = torch.zeros(X.shape[1], n_models)
    b = previous_b = torch.zeros(n_models)
    momentum, first = 1.0, 0.0
    for _ in range(max_iter):
        residual = gradient(X @ V + b)
        slope = X.T @ residual + decay * V
        size = float(slope.norm())
        first = first or size
        stepped, stepped_b = V - slope, b - bias_step * residual.sum(dim=0)
        if size <= tol * first:
            return stepped, stepped_b
        # Momentum that points uphill is dropped (O'Donoghue & Candès, 2015).
        if float((slope * (stepped - previous)).sum()) > 0:
            momentum = 1.0
        following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        carry = (momentum - 1) / following
        V, b = stepped + carry * (stepped - previous), stepped_b + carry * (stepped_b - previous_b)
        previous, previous_b, momentum = stepped, stepped_b, following
    return previous, previous_b


def _by_lbfgs(
    X: Tensor,
    decay: Tensor,
    gradient: Gradient,
    n_models: int,
    *,
    bias_step: float,
    max_iter: int,
    tol: float,
) -> tuple[Tensor, Tensor]:
    """Return V (d_f, k) and b (k,) by L-BFGS, the bias being one more row."""
    import torch

    bias = torch.full((len(X), 1), bias_step**0.5)
    wider, heavier = torch.cat([X, bias], dim=1), torch.cat([decay, torch.zeros(1, 1)])
    found = minimize(
        lambda V, scores: torch.addmm(heavier * V, wider.T, gradient(scores)),
        wider,
        n_models,
        max_iter=max_iter,
        tol=tol,
    )
    return found[:-1], found[-1] * bias_step**0.5


class Coordinates(NamedTuple):
    """Features (f − mean) U, written along eigenvectors of a scatter."""

    mean: Array
    """(d_f,)"""
    eigenvalues: Array
    """(r,)"""
    U: Array
    """(d_f, r)"""
    rotated: Tensor
    """(N, r) in float32"""


def coordinates_of(samples: Samples) -> Coordinates:
    """Return samples centered and along the eigenvectors of their scatter, made once."""
    return samples.once("coordinates", lambda: _own_coordinates(samples))


def _own_coordinates(samples: Samples) -> Coordinates:
    eigenvalues, U = row_spectrum(samples.F, samples.class_sums.sum(axis=0))
    mean = samples.F.mean(axis=0, dtype=np.float64)
    return Coordinates(mean, eigenvalues, U, _rotated(samples.F, mean, U))


def _rotated(F: Array, mean: Array, U: Array) -> Tensor:
    import torch

    rotated: Tensor = torch.from_numpy((F - mean.astype(F.dtype)) @ U.astype(F.dtype)).float()
    return rotated
