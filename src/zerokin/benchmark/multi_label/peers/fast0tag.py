"""Fast0Tag: the direction in word-vector space along which a sample's labels rank first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from zerokin.benchmark.multi_label.peers.label_ranking import rank_labels
from zerokin.benchmark.multi_label.peers.peer import LabelTraining, MultiLabelPeer
from zerokin.benchmark.peers.bilinear import Decay, Epochs
from zerokin.benchmark.peers.training_set import Array


@dataclass
class Fast0Tag(MultiLabelPeer):
    """A linear map sends a sample to its principal direction w; classes are ranked by w · z.

    RankNet's loss, as for the paper's network: log(1 + exp(w · s_w − w · s_c)) for a label c that a
    sample has and a label w that it has not, averaged over its pairs. The paper's linear variant
    regresses directions of RankSVMs instead; its network has hidden layers.

    Parameters
    ----------
    decay
        Weight of ‖W‖²/2 beside the mean loss.
    n_epochs
        How often every sample is seen.
    """

    name: ClassVar[str] = "fast0tag"
    reference: ClassVar[str] = "Zhang et al., Fast Zero-Shot Image Tagging, CVPR 2016"
    grid: ClassVar[Mapping[str, Sequence[float]]] = {"decay": (1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03)}
    decay: Decay = 1e-3
    n_epochs: Epochs = 30

    def learn(self, training: LabelTraining) -> None:
        from torch.nn.functional import softplus

        self.W_ = rank_labels(training, softplus, n_epochs=self.n_epochs, decay=self.decay)

    def score(self, F: Array, Z: Array) -> Array:
        found: Array = F @ self.W_ @ Z.T
        return found
