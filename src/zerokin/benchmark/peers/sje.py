"""SJE, structured joint embedding."""

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
class SJE(RankingPeer):
    """A class scores f W s, learned against the wrong class that comes closest.

    A sample of class y costs max over c ≠ y of max(0, 1 + f W s_c − f W s_y).

    Parameters
    ----------
    decay
        Weight of ‖W‖²/2 beside the mean loss.
    learning_rate
        Of the stochastic gradient descent from W = 0; it falls to zero linearly.
    n_epochs
        How often every sample is seen.
    """

    name: ClassVar[str] = "sje"
    reference: ClassVar[str] = (
        "Akata, Reed, Walter, Lee & Schiele, Evaluation of Output Embeddings for Fine-Grained "
        "Image Classification, CVPR 2015"
    )
    grid: ClassVar[Mapping[str, Sequence[float]]] = {"decay": (1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2)}
    decay: Decay = 1e-3
    learning_rate: LearningRate = 5.0
    n_epochs: Epochs = 20

    @staticmethod
    def loss_gradient(scores: Tensor, labels: Tensor) -> Tensor:
        return structured_hinge(scores, labels)

    def score(self, F: Array, Z: Array) -> Array:
        return self.maps_[0].bilinear(F, Z)


def structured_hinge(scores: Tensor, labels: Tensor) -> Tensor:
    """Return the gradient of SJE's loss, summed over a batch, with respect to its scores (B, p).

    Classes that violate equally, as all do while W = 0, share it: the order of classes is no part
    of the method.
    """
    violated = violations(scores, labels, 1.0)
    worst = violated.amax(dim=1, keepdim=True)
    chosen = ((violated == worst) & (worst > 0)).to(scores.dtype)
    return against_right(chosen / chosen.sum(dim=1, keepdim=True).clamp(min=1), labels)
