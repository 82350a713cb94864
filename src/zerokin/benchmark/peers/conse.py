"""ConSE, a convex combination of semantic embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from zerokin.benchmark.peers.linear_models import fit_linear_models
from zerokin.benchmark.peers.peer import Peer, RidgeWeight
from zerokin.benchmark.peers.training_set import Array, TrainingSet
from zerokin.classifiers.nearest_prototype import cosine_scores
from zerokin.compute.products import quick_products
from zerokin.declared import Count


@dataclass
class ConSE(Peer):
    """A sample lies at the mean of the seen classes it resembles, weighted by their probability.

    With p(c | f) of a softmax regression over the seen classes, and the T likeliest of them, the
    sample's place is Σ_t p(c_t | f) s_{c_t} / Σ_t p(c_t | f); the nearest class is by cosine.

    Parameters
    ----------
    ridge
        Weight of ‖W‖²/2 beside the summed cross-entropy.
    n_top
        T; all seen classes if they are fewer.
    """

    name: ClassVar[str] = "conse"
    reference: ClassVar[str] = (
        "Norouzi et al., Zero-Shot Learning by Convex Combination of Semantic Embeddings, ICLR 2014"
    )
    grid: ClassVar[Mapping[str, Sequence[float]]] = {
        "ridge": (0.03, 0.1, 0.3, 1.0),
        "n_top": (5, 10, 1000),
    }
    ridge: RidgeWeight = 0.1
    n_top: Count = 10

    def learn(self, training: TrainingSet) -> None:
        self.S_ = training.S
        self.W_, self.b_ = training.samples.once(
            ("softmax", self.ridge), lambda: softmax_regression(training, self.ridge)
        )

    def score(self, F: Array, Z: Array) -> Array:
        logits = F @ self.W_ + self.b_
        probabilities = np.exp(logits - logits.max(axis=1, keepdims=True))
        n_top = min(int(self.n_top), len(self.S_))
        least = -np.partition(-probabilities, n_top - 1, axis=1)[:, n_top - 1 : n_top]
        probabilities[probabilities < least] = 0
        # Dividing by the sum of what is left would not change a cosine.
        return cosine_scores(probabilities @ self.S_, Z)


def softmax_regression(
    training: TrainingSet, ridge: float, *, tol: float = 3e-3
) -> tuple[Array, Array]:
    """Return W (d_f, p) and b (p,) of a softmax regression over the seen classes."""
    import torch

    labels = torch.from_numpy(training.labels)
    truth = torch.nn.functional.one_hot(labels, len(training.S)).float()
    with quick_products():
        return fit_linear_models(
            training,
            lambda scores: torch.softmax(scores, dim=1) - truth,
            len(training.S),
            curvature=0.05,
            bounded=False,
            ridge=ridge,
            tol=tol,
        )
