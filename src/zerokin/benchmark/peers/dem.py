"""DEM, a deep embedding model whose common space is that of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np

from zerokin.benchmark.peers.adam import falling_adam
from zerokin.benchmark.peers.distances import squared_distances
from zerokin.benchmark.peers.peer import Peer
from zerokin.benchmark.peers.training_set import Array, TrainingSet
from zerokin.compute.products import quick_products
from zerokin.declared import Count
from zerokin.parameters import Integer, Real

if TYPE_CHECKING:
    from torch import Generator, Tensor


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
        shares = torch.from_numpy(training.counts / len(training.F)).float()[:, None]
        generator = torch.Generator().manual_seed(training.random_state)
        W1 = torch.randn(d_z, self.n_hidden, generator=generator) * (2 / d_z) ** 0.5
        basis = span_of(means, generator)  # drawn after W₁
        r = len(basis)
        shrunk = (r / d_f) ** 0.5
        targets = torch.from_numpy(means).float() @ basis.T * shrunk
        # W₂ starts at zero: what noise a random one adds to unseen classes is never trained away.
        W2, b1, b2 = torch.zeros(self.n_hidden, r), torch.zeros(self.n_hidden), torch.zeros(r)
        weights = [W1, b1, W2, b2]
        step = falling_adam(weights, self.learning_rate, self.n_steps)
        with quick_products():
            for _ in range(self.n_steps):
                hidden = torch.relu(S @ W1 + b1)
                off = torch.addmm(b2, hidden, W2).sub_(targets).mul_(shares * (2 / r))
                back = (off @ W2.T).mul_(hidden > 0)
                W1.grad = torch.addmm(W1, S.T, back, beta=2 * self.decay)
                b1.grad, b2.grad = back.sum(dim=0), off.sum(dim=0)
                W2.grad = torch.addmm(W2, hidden.T, off, beta=2 * self.decay * d_f / r)
                step()
        lifted = basis / shrunk
        self.weights_ = [one.double().numpy() for one in (W1, b1, W2 @ lifted, b2 @ lifted)]

    def score(self, F: Array, Z: Array) -> Array:
        semantic_entries, feature_entries = self.entry_scales_
        W1, b1, W2, b2 = self.weights_
        placed = np.maximum(Z * semantic_entries @ W1 + b1, 0) @ W2 + b2
        return -squared_distances(F, placed / feature_entries)


def span_of(rows: Array, draw: Generator) -> Tensor:
    """Return an orthonormal basis (r, d) of what rows (p, d) span, r = min(p, d), turned at random.

    So no direction of it is that of the largest differences, and all coordinates are alike.
    """
    import torch

    p, d = rows.shape
    if p >= d:
        return torch.eye(d)
    straight = torch.linalg.qr(torch.from_numpy(rows).T)[0]
    turn = torch.linalg.qr(torch.randn(p, p, generator=draw, dtype=torch.float64))[0]
    turned: Tensor = (straight @ turn).T.float()
    return turned
