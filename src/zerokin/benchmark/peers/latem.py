"""LatEm, latent embeddings: several bilinear scores, of which the highest counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np

from zerokin.benchmark.peers.bilinear import (
    Decay,
    Epochs,
    LearningRate,
    RankingPeer,
    against_right,
    violations,
)
from zerokin.benchmark.peers.training_set import Array
from zerokin.parameters import Integer

if TYPE_CHECKING:
    from torch import Tensor


@dataclass
class LatEm(RankingPeer):
    """A class scores max over k of f W_k s: which of K maps serves is latent.

    A sample of class y costs the mean over c ≠ y of max(0, 1 + max_k f W_k s_c − max_k f W_k s_y).
    Together they fit what one bilinear map cannot: scores that are piecewise linear.

    Parameters
    ----------
    n_maps
        K.
    decay
        Weight of Σ‖W_k‖²/2 beside the mean loss.
    learning_rate
        Of the stochastic gradient descent from small random W_k; it falls to zero linearly.
    n_epochs
        How often every sample is seen.
    """

    name: ClassVar[str] = "latem"
    reference: ClassVar[str] = (
        "Xian, Akata, Sharma, Nguyen, Hein & Schiele, Latent Embeddings for Zero-Shot "
        "Classification, CVPR 2016"
    )
    grid: ClassVar[Mapping[str, Sequence[float]]] = {"n_maps": (2, 4), "decay": (3e-5, 1e-4, 3e-4)}
    n_maps: Annotated[int, Integer(1, 1000)] = 2
    decay: Decay = 1e-4
    learning_rate: LearningRate = 100.0
    n_epochs: Epochs = 20

    @property
    def maps(self) -> int:
        return self.n_maps

    @staticmethod
    def loss_gradient(scores: Tensor, labels: Tensor) -> Tensor:
        return mean_hinge(scores, labels)

    def score(self, F: Array, Z: Array) -> Array:
        scores: Array = np.max([one.bilinear(F, Z) for one in self.maps_], axis=0)
        return scores


def mean_hinge(scores: Tensor, labels: Tensor) -> Tensor:
    """Return the gradient of LatEm's loss, summed over a batch, for its scores (B, p)."""
    violated = violations(scores, labels, 1.0) > 0
    return against_right(violated.to(scores.dtype) / (scores.shape[1] - 1), labels)
