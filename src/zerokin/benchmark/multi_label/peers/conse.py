"""ConSE for several labels: a convex combination of the embeddings of likely seen labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from zerokin.benchmark.multi_label.peers.binary_models import binary_models
from zerokin.benchmark.multi_label.peers.peer import LabelTraining, MultiLabelPeer
from zerokin.benchmark.peers.peer import RidgeWeight
from zerokin.benchmark.peers.training_set import Array
from zerokin.classifiers.nearest_prototype import cosine_scores
from zerokin.declared import Count


@dataclass
class MultiLabelConSE(MultiLabelPeer):
    """A sample lies at the mean of the T likeliest seen labels, weighted by their probability.

    Probabilities are those of a logistic regression for each seen label, in the place of the
    paper's softmax: labels do not exclude each other. Classes are ranked by cosine.

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
        "ridge": (0.3, 1.0, 3.0),
        "n_top": (5, 1000),
    }
    ridge: RidgeWeight = 1.0
    n_top: Count = 1000

    def learn(self, training: LabelTraining) -> None:
        self.S_ = training.S
        self.W_, self.b_ = binary_models(training, self.ridge)

    def score(self, F: Array, Z: Array) -> Array:
        from scipy.special import expit

        p = expit(F @ self.W_ + self.b_)
        n_top = min(int(self.n_top), p.shape[1])
        least = -np.partition(-p, n_top - 1, axis=1)[:, n_top - 1 : n_top]
        return cosine_scores(np.where(p < least, 0.0, p) @ self.S_, Z)
