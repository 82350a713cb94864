"""Many linear classifiers at once: convex losses with a ridge, by accelerated gradient descent.

DAP's logistic regressions, ConSE's softmax regression and SynC's support vector machines all are

    min over W (d_f, k), b (k,):   Σ_n ℓ_n(f_n W + b) + ridge/2 ‖W‖²

for a loss ℓ whose second derivative is at most a known curvature c. In coordinates in which
c FᵀF + ridge·I is the identity a gradient step of length one never overshoots, and a few dozen
accelerated ones reach the minimum. The features are centered first: then the bias, which has no
ridge, no longer depends on W.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.benchmark.peers.training_set import Array, Samples, TrainingSet, symmetric_spectrum

Single = NDArray[np.float32]
Gradient = Callable[[Single], Single]
"""Scores (N, k) → gradient of the summed loss with respect to them (N, k), maybe in their place."""


def fit_linear_models(
    training: TrainingSet,
    gradient: Gradient,
    n_models: int,
    *,
    curvature: float,
    ridge: float,
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
        Bound on the second derivative of a sample's loss in any direction of its scores.
    ridge
        Weight of ‖W‖²/2.
    max_iter
        Most steps.
    tol
        Stop when a gradient has become this much shorter than the first one.
    """
    samples = training.samples
    eigenvalues, U = samples.once("centered spectrum", lambda: _centered_spectrum(samples))
    mean = samples.F.mean(axis=0, dtype=np.float64)
    lengths = (curvature * eigenvalues + ridge) ** -0.5
    rotated = samples.once("centered features", lambda: _rotated(samples.F, mean, U))
    X = rotated * lengths.astype(np.float32)
    decay = (ridge * lengths**2).astype(np.float32)[:, None]

    bias_step = np.float32(1 / (curvature * len(X)))
    V = previous = np.zeros((X.shape[1], n_models), np.float32)
    b = previous_b = np.zeros(n_models, np.float32)
    momentum, first = 1.0, 0.0
    for _ in range(max_iter):
        scores = X @ V
        scores += b
        residual = gradient(scores)
        slope = X.T @ residual
        slope += decay * V
        size = float(np.linalg.norm(slope))
        first = first or size
        stepped, stepped_b = V - slope, b - bias_step * residual.sum(axis=0)
        if size <= tol * first:
            previous, previous_b = stepped, stepped_b
            break
        moved, moved_b = stepped - previous, stepped_b - previous_b
        # Momentum that points uphill is dropped (O'Donoghue & Candès, 2015).
        if float(np.vdot(slope, moved)) > 0:
            momentum = 1.0
        following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        carry = np.float32((momentum - 1) / following)
        V, b = stepped + carry * moved, stepped_b + carry * moved_b
        previous, previous_b, momentum = stepped, stepped_b, following
    W = U @ (lengths[:, None] * previous)
    return W, previous_b - mean @ W


def _centered_spectrum(samples: Samples) -> tuple[Array, Array]:
    total = samples.class_sums.sum(axis=0)
    return symmetric_spectrum(samples.gram - np.outer(total, total) / len(samples.F))


def _rotated(F: Array, mean: Array, U: Array) -> Single:
    rotated: NDArray[Any] = (F - mean.astype(F.dtype)) @ U.astype(F.dtype)
    return rotated.astype(np.float32, copy=False)
