"""ALE, attribute label embedding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from zerokin.benchmark.peers.bilinear import (
    Decay,
    Epochs,
    LearningRate,
    RankingPeer,
    against_right,
    violations,
)
from zerokin.benchmark.peers.training_set import Array

if TYPE_CHECKING:
    from torch import Tensor


@dataclass
class ALE(RankingPeer):
    """A class scores f W s, learned to rank the right class high, the top ranks counting most.

    A sample whose right class y is violated by r others, those with 1 + f W s_c > f W s_y, costs

        (Σ_{k ≤ r} 1/k) / r · Σ_c max(0, 1 + f W s_c − f W s_y).

    Parameters
    ----------
    decay
        Weight of ‖W‖²/2 beside the mean loss.
    learning_rate
        Of the stochastic gradient descent from W = 0; it falls to zero linearly.
    n_epochs
        How often every sample is seen.
    """

    name: ClassVar[str] = "ale"
    reference: ClassVar[str] = (
        "Akata, Perronnin, Harchaoui & Schmid, Label-Embedding for Image Classification, TPAMI 2016"
    )
    grid: ClassVar[Mapping[str, Sequence[float]]] = {"decay": (3e-5, 1e-4, 3e-4, 6e-4, 1e-3, 3e-3)}
    decay: Decay = 3e-4
    learning_rate: LearningRate = 10.0
    n_epochs: Epochs = 20

    @staticmethod
    def loss_gradient(scores: Tensor, labels: Tensor) -> Tensor:
        return weighted_ranking(scores, labels)

    def score(self, F: Array, Z: Array) -> Array:
        return self.maps_[0].bilinear(F, Z)


def weighted_ranking(scores: Tensor, labels: Tensor) -> Tensor:
    """Return the gradient of ALE's loss, summed over a batch, with respect to its scores (B, p)."""
    import torch

    violated = (violations(scores, labels, 1.0) > 0).to(scores.dtype)
    ranks = violated.sum(dim=1, keepdim=True).clamp(min=1)
    harmonic = torch.arange(1, scores.shape[1] + 1).to(scores).reciprocal().cumsum(dim=0)
    return against_right(violated * harmonic[ranks.long() - 1] / ranks, labels)
