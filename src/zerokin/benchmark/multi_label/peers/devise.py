"""DeViSE for several labels: a hinge loss ranks a sample's labels above the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from zerokin.benchmark.multi_label.peers.label_ranking import rank_labels
from zerokin.benchmark.multi_label.peers.peer import LabelTraining, MultiLabelPeer
from zerokin.benchmark.peers.bilinear import Decay, Epochs
from zerokin.benchmark.peers.training_set import Array
from zerokin.classifiers.nearest_prototype import cosine_scores


@dataclass
class MultiLabelDeViSE(MultiLabelPeer):
    """Features are mapped among unit class vectors, nearer to each own label than to any other.

    A label c that a sample has and a label w that it has not cost max(0, 0.1 + f W s_w − f W s_c).
    Classes are ranked by cosine.

    Parameters
    ----------
    decay
        Weight of ‖W‖²/2 beside the mean loss.
    n_epochs
        How often every sample is seen.
    """

    name: ClassVar[str] = "devise"
    reference: ClassVar[str] = (
        "Frome et al., DeViSE: A Deep Visual-Semantic Embedding Model, NIPS 2013"
    )
    grid: ClassVar[Mapping[str, Sequence[float]]] = {"decay": (1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03)}
    decay: Decay = 1e-3
    n_epochs: Epochs = 30

    def learn(self, training: LabelTraining) -> None:
        self.W_ = rank_labels(
            training,
            lambda ahead: (0.1 + ahead).clamp(min=0),
            n_epochs=self.n_epochs,
            decay=self.decay,
        )

    def score(self, F: Array, Z: Array) -> Array:
        return cosine_scores(F @ self.W_, Z)
