"""DEM, a deep embedding model whose common space is that of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from zerokin.benchmark.peers.bilinear import add_decay
from zerokin.benchmark.peers.distances import squared_distances
from zerokin.benchmark.peers.peer import Peer
from zerokin.benchmark.peers.training_set import Array, TrainingSet
from zerokin.declared import Count
from zerokin.parameters import Integer, Real


@dataclass
class DEM(Peer):
    """A network with one hidden layer places classes among features; the nearest class wins.

    With g(s) = relu(s W₁ + b₁) W₂ + b₂ it minimizes

        1/N Σ_n ‖f_n − g(s_{y_n})‖² + λ(‖W₁‖² + ‖W₂‖²).

    The squares of a class's samples are those of their mean and a constant, so the descent runs on
    p class means, each weighted by its samples, instead of N samples.

    Parameters
    ----------
    learning_rate
        Of Adam, at the start; it falls to zero linearly.
    decay
        λ, for features and semantics whose entries have a mean square of one.
    n_hidden
        Width of the hidden layer.
    n_steps
        Steps of Adam, each over all class means.
    """

    name: ClassVar[str] = "dem"
    reference: ClassVar[str] = (
        "Zhang, Xiang & Gong, Learning a Deep Embedding Model for Zero-Shot Learning, CVPR 2017"
    )
    grid: ClassVar[Mapping[str, Sequence[float]]] = {
        "learning_rate": (3e-4, 1e-3, 3e-3),
        "decay": (1e-5, 1e-4),
    }
    learning_rate: Annotated[float, Real(0, 10, closed="right")] = 1e-3
    decay: Annotated[float, Real(0, 1e6)] = 1e-4
    n_hidden: Annotated[int, Integer(1, 1_000_000)] = 1024
    n_steps: Count = 200

    def learn(self, training: TrainingSet) -> None:
        import torch

        d_z, d_f = training.S.shape[1], training.F.shape[1]
        self.entry_scales_ = d_z**0.5, d_f**0.5
        S = torch.from_numpy(training.S * d_z**0.5).float()
        means = training.class_sums / training.counts[:, None] * d_f**0.5
        targets = torch.from_numpy(means).float()
        shares = torch.from_numpy(training.counts / len(training.F)).float()[:, None]
        generator = torch.Generator().manual_seed(training.random_state)
        W1 = torch.randn(d_z, self.n_hidden, generator=generator) * (2 / d_z) ** 0.5
        # W₂ starts at zero: what noise a random one adds to unseen classes is never trained away.
        W2 = torch.zeros(self.n_hidden, d_f)
        weights = [W1, torch.zeros(self.n_hidden), W2, torch.zeros(d_f)]
        for weight in weights:
            weight.requires_grad_()
        optimizer = torch.optim.Adam(weights, lr=self.learning_rate)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda t: 1 - t / self.n_steps)
        for _ in range(self.n_steps):
            W1, b1, W2, b2 = weights
            placed = torch.relu(S @ W1 + b1) @ W2 + b2
            misfit = (shares * (placed - targets) ** 2).sum() / d_f
            optimizer.zero_grad()
            misfit.backward()
            add_decay([W1, W2], self.decay)
            optimizer.step()
            schedule.step()
        self.weights_ = [weight.detach().double().numpy() for weight in weights]

    def score(self, F: Array, Z: Array) -> Array:
        semantic_entries, feature_entries = self.entry_scales_
        W1, b1, W2, b2 = self.weights_
        placed = np.maximum(Z * semantic_entries @ W1 + b1, 0) @ W2 + b2
        return -squared_distances(F, placed / feature_entries)
