"""The prototypical rule: the class with the nearest mean of its shots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from zerokin.benchmark.few_shot.peers.peer import Array, FewShotPeer


@dataclass
class Prototypical(FewShotPeer):
    """Scores a class by the Euclidean distance of the mean of its shots."""

    name: ClassVar[str] = "prototypical"
    reference: ClassVar[str] = (
        "Snell, Swersky & Zemel, Prototypical Networks for Few-shot Learning, NIPS 2017"
    )

    def score(self, shots: Array, queries: Array) -> Array:
        return nearest_means(shots.mean(axis=2), queries)


def nearest_means(means: Array, queries: Array) -> Array:
    """Return scores (T, M, W): half of minus ‖q − m‖², less ‖q‖², which is the same for all."""
    scores: Array = queries @ means.transpose(0, 2, 1)
    scores -= (means**2).sum(axis=2)[:, None, :] / 2
    return scores
