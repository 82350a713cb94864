"""Distribution calibration: a shot's class is spread as the base classes nearest to the shot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from zerokin.benchmark.few_shot.peers.peer import Array, BaseClasses, FewShotPeer
from zerokin.declared import Count
from zerokin.parameters import Real

AT_ONCE = 16
"""Episodes whose covariances are in memory together."""


@dataclass
class DistributionCalibration(FewShotPeer):
    """Gaussians around shots, with mean and covariance lent by the nearest base classes.

    A shot x with nearest base classes N has the mean (x + Σ_N μ_b) / (|N| + 1) and the covariance
    Σ_N Σ_b / |N|, to which ``spread`` times the mean variance is added. The paper draws samples
    from these Gaussians and fits a logistic regression to them; here the classes are told apart by
    the linear discriminant of their means and of the covariance averaged over all shots, which
    needs no samples. ``power`` among the normalizations is the paper's transformation of Tukey.

    Parameters
    ----------
    neighbors
        |N|.
    spread
        What is added to the variance in every direction, in units of the mean variance.
    """

    name: ClassVar[str] = "distribution-calibration"
    reference: ClassVar[str] = (
        "Yang, Liu & Xu, Free Lunch for Few-shot Learning: Distribution Calibration, ICLR 2021"
    )
    normalizations: ClassVar[Sequence[str]] = ("none", "unit", "power", "power-unit")
    grid: ClassVar[Mapping[str, Sequence[float]]] = {
        "neighbors": (1, 2, 4),
        "spread": (0.3, 1.0, 3.0, 10.0),
    }
    neighbors: Count = 2
    spread: Annotated[float, Real(1e-6, 1e6)] = 1.0

    def learn(self, base: BaseClasses) -> None:
        self.means_ = base.means.astype(base.features.dtype)
        self.covariances_ = base.covariances

    def score(self, shots: Array, queries: Array) -> Array:
        trials, way, n_shots, width = shots.shape
        nearest = self._nearest(shots.reshape(-1, width)).reshape(trials, way, n_shots, -1)
        k = nearest.shape[-1]
        lent = self.means_[nearest].sum(axis=3)
        means = ((shots + lent) / (k + 1)).mean(axis=2)
        shares = self._shares(nearest.reshape(trials, -1))
        scores = np.empty((trials, queries.shape[1], way), queries.dtype)
        for start in range(0, trials, AT_ONCE):
            part = slice(start, start + AT_ONCE)
            columns = means[part].transpose(0, 2, 1)
            directions = np.linalg.solve(self._covariances(shares[part]), columns)
            halves = (columns * directions).sum(axis=1, keepdims=True) / 2
            scores[part] = queries[part] @ directions - halves
        return scores

    def _nearest(self, shots: Array) -> NDArray[np.int64]:
        """Return the base classes (n, k) whose means are nearest to shots (n, d_f)."""
        k = min(int(self.neighbors), len(self.means_))
        near = shots @ self.means_.T - (self.means_**2).sum(axis=1) / 2
        return np.argpartition(-near, k - 1, axis=1)[:, :k]

    def _shares(self, nearest: NDArray[np.int64]) -> Array:
        """Return how often an episode's shots lend from each base class (T, B), in all 1."""
        trials, total = nearest.shape
        shares = np.zeros((trials, len(self.means_)), self.covariances_.dtype)
        np.add.at(shares, (np.arange(trials)[:, None], nearest), 1 / total)
        return shares

    def _covariances(self, shares: Array) -> Array:
        """Return the covariances (T, d_f, d_f) averaged by shares (T, B), and spread."""
        B, width, _ = self.covariances_.shape
        mixed = (shares @ self.covariances_.reshape(B, -1)).reshape(-1, width, width)
        diagonal = np.einsum("tii->ti", mixed)  # a view
        variance = diagonal.mean(axis=1, keepdims=True)
        diagonal += np.where(variance > 0, self.spread * variance, 1)
        return mixed
