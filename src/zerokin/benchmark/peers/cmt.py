"""CMT, cross-modal transfer by a small network from features to semantics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from zerokin.benchmark.peers.adam import falling_adam
from zerokin.benchmark.peers.bilinear import BATCH, Epochs, in_batches
from zerokin.benchmark.peers.distances import squared_distances
from zerokin.benchmark.peers.peer import Peer
from zerokin.benchmark.peers.training_set import Array, TrainingSet
from zerokin.compute.products import quick_products
from zerokin.parameters import Integer, Real


@dataclass
class CMT(Peer):
    """A network with one hidden layer places samples among class vectors; the nearest class wins.

    With g(f) = tanh(f W₁) W₂ and s_y the vector of a sample's class it minimizes

        1/N Σ_n ‖s_{y_n} − g(f_n)‖² + λ(‖W₁‖² + ‖W₂‖²).

    This is the plain model: novelty detection, which sends samples either to seen or to unseen
    classes, is left out.

    Parameters
    ----------
    learning_rate
        Of Adam, at the start; it falls to zero linearly.
    decay
        λ, for features and semantics whose entries have a mean square of one.
    n_hidden
        Width of the hidden layer.
    n_epochs
        How often every sample is seen.
    """

    name: ClassVar[str] = "cmt"
    reference: ClassVar[str] = (
        "Socher, Ganjoo, Manning & Ng, Zero-Shot Learning Through Cross-Modal Transfer, NIPS 2013"
    )
    grid: ClassVar[Mapping[str, Sequence[float]]] = {
        "learning_rate": (1e-3, 3e-3),
        "decay": (1e-5, 1e-4, 1e-3),
    }
    learning_rate: Annotated[float, Real(0, 10, closed="right")] = 3e-3
    decay: Annotated[float, Real(0, 1e6)] = 1e-4
    n_hidden: Annotated[int, Integer(1, 1_000_000)] = 128
    n_epochs: Epochs = 10

    def learn(self, training: TrainingSet) -> None:
        import torch

        d_z, d_f = training.S.shape[1], training.F.shape[1]
        self.entry_scales_ = d_z**0.5, d_f**0.5
        F = torch.from_numpy(training.F * training.F.dtype.type(d_f**0.5)).float()
        targets = torch.from_numpy(training.S * d_z**0.5).float()
        labels = torch.from_numpy(training.labels)
        generator = torch.Generator().manual_seed(training.random_state)
        W1 = torch.randn(d_f, self.n_hidden, generator=generator) / d_f**0.5
        # W₂ starts at zero: a random one adds noise that is never trained away.
        W2 = torch.zeros(self.n_hidden, d_z)
        step = falling_adam([W1, W2], self.learning_rate, self.n_epochs * -(-len(F) // BATCH))
        with quick_products():
            for _ in range(self.n_epochs):
                order = torch.randperm(len(F), generator=generator)
                for f, y in zip(*in_batches(order, F, labels), strict=True):
                    hidden = torch.tanh(f @ W1)
                    off = (hidden @ W2).sub_(targets[y]).mul_(2 / (len(f) * d_z))
                    back = (off @ W2.T).mul_(1 - hidden**2)
                    W1.grad = torch.addmm(W1, f.T, back, beta=2 * self.decay)
                    W2.grad = torch.addmm(W2, hidden.T, off, beta=2 * self.decay)
                    step()
        self.weights_ = [weight.double().numpy() for weight in (W1, W2)]

    def score(self, F: Array, Z: Array) -> Array:
        semantic_entries, feature_entries = self.entry_scales_
        W1, W2 = self.weights_
        placed = np.tanh(F * feature_entries @ W1) @ W2
        return -squared_distances(placed / semantic_entries, Z)
