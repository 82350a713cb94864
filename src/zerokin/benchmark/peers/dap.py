"""DAP, direct attribute prediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from zerokin.benchmark.peers.linear_models import fit_linear_models
from zerokin.benchmark.peers.peer import Peer, RidgeWeight
from zerokin.benchmark.peers.training_set import Array, TrainingSet
from zerokin.compute.products import quick_products


@dataclass
class DAP(Peer):
    """Attributes are predicted one by one, and a class scores the product of its own.

    With class attributes a ∈ {0, 1}, a logistic regression for p(a_m | f) and the share of seen
    classes that have an attribute as its prior p(a_m), a class scores

        Σ_m log p(a_m = its value | f) − log p(a_m = its value).

    Parameters
    ----------
    ridge
        Weight of ‖w‖²/2 beside the summed logistic loss.
    """

    name: ClassVar[str] = "dap"
    reference: ClassVar[str] = (
        "Lampert, Nickisch & Harmeling, Attribute-Based Classification for Zero-Shot Visual Object "
        "Categorization, TPAMI 2014"
    )
    grid: ClassVar[Mapping[str, Sequence[float]]] = {"ridge": (0.1, 0.3, 1.0, 3.0, 10.0)}
    ridge: RidgeWeight = 1.0

    def learn(self, training: TrainingSet) -> None:
        import torch

        self.threshold_ = training.S.mean(axis=0)
        attributes = np.greater(training.S, self.threshold_).astype(np.float32)
        self.prior_ = attributes.mean(axis=0, dtype=np.float64)
        # An attribute that all seen classes have, or none, cannot be learned: it counts nothing.
        self.told_ = (self.prior_ > 0) & (self.prior_ < 1)
        truth = torch.from_numpy(attributes[training.labels][:, self.told_])
        with quick_products():
            self.W_, self.b_ = fit_linear_models(
                training,
                lambda scores: torch.sigmoid(scores) - truth,
                truth.shape[1],
                curvature=0.25,
                ridge=self.ridge,
                tol=3e-3,
            )

    def score(self, F: Array, Z: Array) -> Array:
        attributes = np.greater(Z, self.threshold_)[:, self.told_]
        prior = self.prior_[self.told_]
        logits = F @ self.W_ + self.b_
        present = -np.logaddexp(0, -logits) - np.log(prior)
        absent = -np.logaddexp(0, logits) - np.log1p(-prior)
        scores: Array = present @ attributes.T + absent @ ~attributes.T
        return scores
