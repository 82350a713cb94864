"""Logistic regression on the shots, for all episodes at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from zerokin.benchmark.few_shot.peers.peer import Array, FewShotPeer
from zerokin.parameters import Real

MAX_ITER, TOLERANCE = 1000, 1e-6


@dataclass
class LogisticRegression(FewShotPeer):
    """Minimizes the mean cross-entropy of the shots plus ridge/2 ‖V‖², V (W, d_f).

    There is no intercept: all classes have the same number of shots. The best V is a combination
    of the shots, so that an episode's problem is as large as its shots, whatever d_f.

    Parameters
    ----------
    ridge
        Weight of ‖V‖², for shots that are scaled to length one in the root mean square.
    """

    name: ClassVar[str] = "logistic-regression"
    reference: ClassVar[str] = (
        "Tian, Wang, Krishnan, Tenenbaum & Isola, Rethinking Few-Shot Image Classification: A Good "
        "Embedding Is All You Need?, ECCV 2020"
    )
    grid: ClassVar[Mapping[str, Sequence[float]]] = {"ridge": (0.001, 0.01, 0.1, 1.0)}
    ridge: Annotated[float, Real(1e-9, 1e9)] = 0.1

    def score(self, shots: Array, queries: Array) -> Array:
        trials, way, n_shots, width = shots.shape
        S = shots.reshape(trials, way * n_shots, width).astype(np.float64)
        gram = S @ S.transpose(0, 2, 1)
        # One length for all shots of an episode, so that a ridge means the same for any features.
        squares = np.trace(gram, axis1=1, axis2=2)[:, None, None] / (way * n_shots)
        squares = np.where(squares > 0, squares, 1)
        gram /= squares
        A = combinations(gram, np.repeat(np.arange(way), n_shots), ridge=self.ridge)
        scores: Array = queries @ (S.transpose(0, 2, 1) @ A / squares)
        return scores


def combinations(
    gram: NDArray[np.float64], labels: NDArray[np.int64], *, ridge: float
) -> NDArray[np.float64]:
    """Return A (T, n, W) such that V = AᵀS minimizes, for gram matrices S Sᵀ (T, n, n).

    Every step minimizes the quadratic bound of Böhning (1992), in which ½ S Sᵀ / n stands above
    the Hessian of the cross-entropy, with Nesterov's momentum.
    """
    n = len(labels)
    Y = np.eye(labels.max() + 1)[labels]
    inverse = np.linalg.inv(gram / (2 * n) + ridge * np.eye(n))
    A = ahead = np.zeros((len(gram), n, Y.shape[1]))
    for step in range(MAX_ITER):
        gradient = (softmax(gram @ ahead) - Y) / n + ridge * ahead
        if np.abs(gradient).max() < TOLERANCE / n:
            break
        new = ahead - inverse @ gradient
        ahead = new + step / (step + 3) * (new - A)
        A = new
    return ahead


def softmax(logits: NDArray[Any]) -> NDArray[Any]:
    """Return the softmax over the last axis."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares: NDArray[Any] = powers / powers.sum(axis=-1, keepdims=True)
    return shares
