"""Logistic regressions of seen labels, transferred to unseen ones by their word vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from zerokin.benchmark.multi_label.peers.binary_models import binary_models
from zerokin.benchmark.multi_label.peers.peer import LabelTraining, MultiLabelPeer
from zerokin.benchmark.peers.peer import RidgeWeight
from zerokin.benchmark.peers.training_set import Array
from zerokin.declared import Positive


@dataclass
class LogisticTransfer(MultiLabelPeer):
    """A label's log-odds are those of the seen labels, weighted by how alike they are.

    With v_c(f) the log-odds of seen label c, a label with semantics z scores Σ_c a_c v_c(f), where
    a = softmax(cos(z, s_c) / τ) over the seen labels (COSTA; the paper weighs by co-occurrence).

    Parameters
    ----------
    ridge
        Weight of ‖W‖²/2 beside the summed cross-entropy.
    temperature
        τ: the smaller, the more the most similar seen label counts alone.
    """

    name: ClassVar[str] = "logistic-transfer"
    reference: ClassVar[str] = (
        "Mensink et al., COSTA: Co-Occurrence Statistics for Zero-Shot Classification, CVPR 2014"
    )
    grid: ClassVar[Mapping[str, Sequence[float]]] = {
        "ridge": (0.3, 1.0, 3.0),
        "temperature": (0.03, 0.1),
    }
    ridge: RidgeWeight = 1.0
    temperature: Positive = 0.1

    def learn(self, training: LabelTraining) -> None:
        self.S_ = training.S
        self.W_, self.b_ = binary_models(training, self.ridge)

    def score(self, F: Array, Z: Array) -> Array:
        from scipy.special import softmax

        weights = softmax(Z @ self.S_.T / self.temperature, axis=1)
        found: Array = np.asarray((F @ self.W_ + self.b_) @ weights.T)
        return found
