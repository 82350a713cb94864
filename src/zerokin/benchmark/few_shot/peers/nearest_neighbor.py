"""Nearest neighbor: the class of the nearest shot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from zerokin.benchmark.few_shot.peers.peer import Array, FewShotPeer


@dataclass
class NearestNeighbor(FewShotPeer):
    """Scores a class by its shot at the smallest Euclidean distance."""

    name: ClassVar[str] = "nearest-neighbor"
    reference: ClassVar[str] = "Cover & Hart, Nearest neighbor pattern classification, 1967"

    def score(self, shots: Array, queries: Array) -> Array:
        trials, way, n_shots, width = shots.shape
        flat = shots.reshape(trials, way * n_shots, width)
        # ‖q − s‖² less ‖q‖², which is the same for all shots; halved and negated.
        near = queries @ flat.transpose(0, 2, 1) - (flat**2).sum(axis=2)[:, None, :] / 2
        best: Array = near.reshape(trials, -1, way, n_shots).max(axis=3)
        return best
