"""SSE, semantic similarity embedding: classes and samples as mixtures of seen classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np

from zerokin.benchmark.peers.adam import falling_adam
from zerokin.benchmark.peers.bilinear import Decay, against_right
from zerokin.benchmark.peers.peer import Peer, RidgeWeight
from zerokin.benchmark.peers.simplex import simplex_mixtures
from zerokin.benchmark.peers.training_set import Array, TrainingSet
from zerokin.declared import Count
from zerokin.parameters import Real
from zerokin.projection.arrays import row_blocks

if TYPE_CHECKING:
    from torch import Tensor

BATCH = 64
CLASSES = 2
"""Whose minima with a batch are made at a time: they stay in a processor's caches."""


@dataclass
class SSE(Peer):
    """A class is a mixture of seen classes, and so is a sample: the score is their product.

    A class has the mixture α_c, on the simplex, that minimizes ‖z_c − Σ_r α_cr s_r‖² + γ‖α_c‖²; a
    seen class is a corner of the simplex. A sample has ψ_r(f) = min(f, v_r), entry by entry, and a
    class scores Σ_r α_cr w·ψ_r(f). Weights w and thresholds v_r are learned together, with a margin
    Δ_yc = 1 − cos(s_y, s_c) that grows with what tells two seen classes apart:

        1/N Σ_n 1/p Σ_c max(0, Δ_{y_n c} + w·ψ_c(f_n) − w·ψ_{y_n}(f_n)) + λ/2 (‖w‖² + Σ_r ‖v_r‖²).

    Parameters
    ----------
    gamma
        γ: how far a class's mixture is spread over seen classes.
    decay
        λ, for features and thresholds whose entries have a mean square of one, products being
        means over entries.
    learning_rate
        Of Adam from w = 0 and v_r at the means of seen classes; it falls to zero linearly.
    n_steps
        Steps of Adam, each over a batch of samples.
    """

    name: ClassVar[str] = "sse"
    reference: ClassVar[str] = (
        "Zhang & Saligrama, Zero-Shot Learning via Semantic Similarity Embedding, ICCV 2015"
    )
    grid: ClassVar[Mapping[str, Sequence[float]]] = {
        "decay": (1e-7, 1e-6),
        "gamma": (0.3, 1.0, 3.0),
    }
    gamma: RidgeWeight = 1.0
    decay: Decay = 1e-6
    learning_rate: Annotated[float, Real(0, 10, closed="right")] = 0.1
    n_steps: Count = 100

    def learn(self, training: TrainingSet) -> None:
        self.S_, self.seen_ = training.S, training.seen
        self.w_, self.V_ = training.once(
            ("max-margin", self.decay, self.learning_rate, self.n_steps),
            lambda: fit_max_margin(
                training,
                decay=self.decay,
                learning_rate=self.learning_rate,
                n_steps=self.n_steps,
            ),
        )

    def score(self, F: Array, Z: Array) -> Array:
        mixtures = np.zeros((len(Z), len(self.S_)))
        mixtures[self.seen_] = np.eye(len(self.S_))
        others = np.setdiff1d(np.arange(len(Z)), self.seen_)
        mixtures[others] = simplex_mixtures(Z[others], self.S_, self.gamma)
        return seen_scores(F, self.w_, self.V_) @ mixtures.T


def fit_max_margin(
    training: TrainingSet, *, decay: float, learning_rate: float, n_steps: int
) -> tuple[Array, Array]:
    """Return w (d_f,) and V (p, d_f), for entries of features with a mean square of one."""
    import torch

    unit = training.S / np.linalg.norm(training.S, axis=1, keepdims=True)
    margins = torch.from_numpy(1 - unit @ unit.T).float()
    d_f = training.F.shape[1]
    F = torch.from_numpy(training.F * training.F.dtype.type(d_f**0.5)).float()
    labels = torch.from_numpy(training.labels)
    means = training.class_sums / training.counts[:, None] * d_f**0.5
    w, V = torch.zeros(d_f), torch.from_numpy(means).float()
    step = falling_adam([w, V], learning_rate, n_steps)
    generator = torch.Generator().manual_seed(training.random_state)
    order = torch.empty(0, dtype=torch.long)
    for _ in range(n_steps):
        while len(order) < BATCH:
            order = torch.cat([order, torch.randperm(len(F), generator=generator)])
        batch, order = order[:BATCH], order[BATCH:]
        slopes = margin_gradients(w, V, F[batch], labels[batch], margins)
        w.grad, V.grad = slopes[0] + decay * w, slopes[1] + decay * V
        step()
    return w.double().numpy(), V.double().numpy()


def margin_gradients(
    w: Tensor, V: Tensor, f: Tensor, labels: Tensor, margins: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the gradients of a batch's mean loss, without decay, for w (d,) and V (p, d)."""
    import torch

    scores = minima_scores(f, w, V)
    short = margins[labels] + scores - scores.gather(1, labels[:, None])
    violated = (short > 0).to(scores.dtype).scatter(1, labels[:, None], 0.0)
    weights = against_right(violated, labels).T / (violated.numel() * len(w))  # (p, B)
    of_w, of_V = torch.zeros_like(w), torch.empty_like(V)
    for rows in row_blocks(len(V), CLASSES):
        mixed = torch.minimum(f, V[rows, None])  # (k, B, d)
        of_w += weights[rows].reshape(-1) @ mixed.reshape(-1, len(w))
        below = torch.lt(V[rows, None], f, out=mixed)  # where the threshold is what counts
        of_V[rows] = (weights[rows, None] @ below)[:, 0] * w
    return of_w, of_V


def minima_scores(f: Tensor, w: Tensor, V: Tensor) -> Tensor:
    """Return w·min(f, v_r) / d of samples (B, d) for thresholds (p, d), as (B, p)."""
    import torch

    scores = f.new_empty(len(f), len(V))
    for rows in row_blocks(len(V), CLASSES):
        scores[:, rows] = (torch.minimum(f, V[rows, None]) @ w).T
    return scores.div_(len(w))


def seen_scores(F: Array, w: Array, V: Array) -> Array:
    """Return w·ψ_r(f) of samples (n, d_f) for every seen class: (n, p)."""
    import torch

    entries = torch.from_numpy(F * F.shape[1] ** 0.5).float()
    weights, thresholds = torch.from_numpy(w).float(), torch.from_numpy(V).float()
    scores = [minima_scores(f, weights, thresholds) for f in torch.split(entries, BATCH)]
    found: Array = torch.cat(scores).double().numpy()
    return found
