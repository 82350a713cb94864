"""Distribution calibration: a shot's class is spread as the base classes nearest to the shot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from zerokin.evaluation.few_shot.peers.peer import Array, BaseClasses, FewShotPeer


@dataclass
class DistributionCalibration(FewShotPeer):
    """Gaussians around shots, with mean and covariance lent by the nearest base classes.

    A shot x with nearest base classes N has the mean (x + Σ_N μ_b) / (|N| + 1) and the covariance
    Σ_N Σ_b / |N|, to which ``spread`` times the mean variance is added. The paper draws samples
    from these Gaussians and fits a logistic regression to them; here the classes are told apart by
    the linear discriminant of their means and of the covariance averaged over all shots, which
    needs no samples. ``power`` among the normalisations is the paper's transformation of Tukey.

    Parameters
    ----------
    neighbours
        |N|.
    spread
        What is added to the variance in every direction, in units of the mean variance.
    """

    name: ClassVar[str] = "distribution-calibration"
    reference: ClassVar[str] = (
        "Yang, Liu & Xu, Free Lunch for Few-shot Learning: Distribution Calibration, ICLR 2021"
    )
    normalisations: ClassVar[Sequence[str]] = ("none", "unit", "power", "power-unit")
    grid: ClassVar[Mapping[str, Sequence[float]]] = {
        "neighbours": (1, 2, 4),
        "spread": (0.3, 1.0, 3.0, 10.0),
    }
    neighbours: int = 2
    spread: float = 1.0

    def learn(self, base: BaseClasses) -> None:
        self.means_ = base.means.astype(base.features.dtype)
        self.covariances_ = base.covariances

    def score(self, shots: Array, queries: Array) -> Array:
        trials, way, n_shots, width = shots.shape
        nearest = self._nearest(shots.reshape(-1, width)).reshape(trials, way, n_shots, -1)
        k = nearest.shape[-1]
        lent = self.means_[nearest].sum(axis=3)
        means = ((shots + lent) / (k + 1)).mean(axis=2)
        scores = np.empty((trials, queries.shape[1], way), queries.dtype)
        for number in range(trials):
            covariance = self._covariance(nearest[number])
            directions = np.linalg.solve(covariance, means[number].T)
            halves = np.einsum("wd,dw->w", means[number], directions) / 2
            scores[number] = queries[number] @ directions - halves
        return scores

    def _nearest(self, shots: Array) -> NDArray[np.int64]:
        """Return the base classes (n, k) whose means are nearest to shots (n, d_f)."""
        k = min(int(self.neighbours), len(self.means_))
        near = shots @ self.means_.T - (self.means_**2).sum(axis=1) / 2
        return np.argpartition(-near, k - 1, axis=1)[:, :k]

    def _covariance(self, nearest: NDArray[np.int64]) -> Array:
        classes, counts = np.unique(nearest, return_counts=True)
        shares = (counts / counts.sum()).astype(self.covariances_.dtype)
        covariance: Array = np.tensordot(shares, self.covariances_[classes], axes=1)
        variance = np.trace(covariance) / len(covariance)
        covariance[np.diag_indices(len(covariance))] += self.spread * variance or 1.0
        return covariance
