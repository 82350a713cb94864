"""DeViSE, a deep visual-semantic embedding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from zerokin.benchmark.peers.bilinear import (
    Decay,
    Epochs,
    LearningRate,
    RankingPeer,
    against_right,
    violations,
)
from zerokin.benchmark.peers.training_set import Array, TrainingSet

if TYPE_CHECKING:
    from torch import Tensor


@dataclass
class DeViSE(RankingPeer):
    """Features are mapped among unit class vectors, nearer to their own than to any other.

    A sample of class y costs Σ_{c ≠ y} max(0, 0.1 + f W s_c − f W s_y); the nearest class is by
    cosine.

    Parameters
    ----------
    decay
        Weight of ‖W‖²/2 beside the mean loss.
    learning_rate
        Of the stochastic gradient descent from W = 0; it falls to zero linearly.
    n_epochs
        How often every sample is seen.
    """

    name: ClassVar[str] = "devise"
    reference: ClassVar[str] = (
        "Frome et al., DeViSE: A Deep Visual-Semantic Embedding Model, NIPS 2013"
    )
    grid: ClassVar[Mapping[str, Sequence[float]]] = {"decay": (1e-3, 3e-3, 0.01, 0.03, 0.1)}
    decay: Decay = 0.01
    learning_rate: LearningRate = 0.5
    n_epochs: Epochs = 20

    @staticmethod
    def loss_gradient(scores: Tensor, labels: Tensor) -> Tensor:
        return hinge_rank(scores, labels)

    def compared(self, training: TrainingSet) -> TrainingSet:
        unit = training.S / np.linalg.norm(training.S, axis=1, keepdims=True)
        return replace(training, S=unit)

    def score(self, F: Array, Z: Array) -> Array:
        return self.maps_[0].cosines_of_semantics(F, Z)


def hinge_rank(scores: Tensor, labels: Tensor) -> Tensor:
    """Return the gradient of DeViSE's loss, summed over a batch, for its scores (B, p)."""
    violated = violations(scores, labels, 0.1) > 0
    return against_right(violated.to(scores.dtype), labels)
