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
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zerokin.benchmark.peers.training_set import (
    Array,
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
    import torch

    samples = training.samples
    mean = samples.F.mean(axis=0, dtype=np.float64)
    eigenvalues, U = samples.once("centered spectrum", lambda: row_spectrum(samples.F, mean))
    lengths = torch.from_numpy((curvature * eigenvalues + ridge) ** -0.5)
    rotated = samples.once("centered features", lambda: _rotated(samples.F, mean, U))
    X = rotated * lengths.float()
    decay = (ridge * lengths**2).float()[:, None]

    bias_step = 1 / (curvature * len(X))
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
            previous, previous_b = stepped, stepped_b
            break
        # Momentum that points uphill is dropped (O'Donoghue & Candès, 2015).
        if float((slope * (stepped - previous)).sum()) > 0:
            momentum = 1.0
        following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        carry = (momentum - 1) / following
        V, b = stepped + carry * (stepped - previous), stepped_b + carry * (stepped_b - previous_b)
        previous, previous_b, momentum = stepped, stepped_b, following
    W = U @ (lengths[:, None] * previous.double()).numpy()
    return W, previous_b.double().numpy() - mean @ W


def _rotated(F: Array, mean: Array, U: Array) -> Tensor:
    import torch

    rotated: Tensor = torch.from_numpy((F - mean.astype(F.dtype)) @ U.astype(F.dtype)).float()
    return rotated
