"""Bilinear scores f W sᵀ learned by ranking the right class first, with stochastic gradients.

DeViSE, ALE and SJE score alike and differ in their loss alone: each is a function from the scores
of a batch (B, p) to its gradient with respect to them (B, p). LatEm has several maps W, and the
highest of their scores counts. Decays of a grid descend side by side: they see the same batches,
and one product serves all.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Self

import numpy as np

from zerokin.benchmark.peers.peer import Peer
from zerokin.benchmark.peers.semantic_map import SemanticMap
from zerokin.benchmark.peers.training_set import TrainingSet
from zerokin.compute.products import quick_products
from zerokin.parameters import Integer, Real

if TYPE_CHECKING:
    from torch import Tensor

    # Scores (B, p) and labels (B,) → gradient of the summed loss with respect to the scores (B, p).
    RankingGradient = Callable[[Tensor, Tensor], Tensor]

MOMENTUM = 0.9
BATCH = 128
START = 0.1  # standard deviation of the scores of several maps at the start

Decay = Annotated[float, Real(0, 1e6)]
LearningRate = Annotated[float, Real(0, 1e6, closed="right")]
Epochs = Annotated[int, Integer(1)]


class RankingPeer(Peer):
    """What peers with such scores share: a loss, and decays that are learned side by side."""

    decay: Decay
    learning_rate: LearningRate
    n_epochs: Epochs

    @staticmethod
    @abstractmethod
    def loss_gradient(scores: Tensor, labels: Tensor) -> Tensor:
        """Return the gradient of the loss, summed over a batch, for its scores (B, p)."""

    def compared(self, training: TrainingSet) -> TrainingSet:
        """Return the training set whose class vectors the loss compares features with."""
        return training

    @property
    def maps(self) -> int:
        """K, how many maps there are."""
        return 1

    def learn(self, training: TrainingSet) -> None:
        self.maps_ = training.once(self._key, lambda: self._descend(training, [self.decay])[0])

    @classmethod
    def learn_together(cls, training: TrainingSet, peers: Sequence[Self]) -> None:
        """Learn the maps of peers that differ in their decay alone side by side."""
        groups: dict[object, list[Self]] = {}
        for peer in peers:
            if not training.has(peer._key):
                groups.setdefault(peer._key[1:], []).append(peer)
        for group in groups.values():
            found = group[0]._descend(training, [peer.decay for peer in group])
            for peer, maps in zip(group, found, strict=True):
                training.keep(peer._key, maps)

    @property
    def _key(self) -> tuple[float, ...]:
        """What maps are remembered by; the decay comes first."""
        others = (getattr(self, one.name) for one in fields(self) if one.name != "decay")
        return (self.decay, *others)

    def _descend(self, training: TrainingSet, decays: Sequence[float]) -> list[list[SemanticMap]]:
        return rank_by_gradients(
            self.compared(training),
            self.loss_gradient,
            learning_rate=self.learning_rate,
            n_epochs=self.n_epochs,
            decays=decays,
            n_maps=self.maps,
        )


def rank_by_gradients(
    training: TrainingSet,
    gradient: RankingGradient,
    *,
    learning_rate: float,
    n_epochs: int,
    decays: Sequence[float],
    n_maps: int = 1,
) -> list[list[SemanticMap]]:
    """Return, for each decay, K maps W (d_f, d_z) after stochastic gradient descent.

    One map starts from zero, several start at random: equal ones would stay equal. They never leave
    the row space of S, so the descent runs in coordinates of it: the same numbers with p columns
    instead of d_z where there are fewer seen classes than semantics. All decays meet the same
    batches, so that their maps lie side by side in one matrix.

    Parameters
    ----------
    training
        Features, labels and semantics of the seen classes; its seed draws the order of samples.
    gradient
        From scores (B, p) and labels (B,) to the gradient of the summed loss (B, p).
    learning_rate
        At the start; it falls to zero linearly.
    n_epochs
        How often every sample is seen.
    decays
        Weights of Σ‖W_k‖²/2 beside the mean loss of a batch.
    n_maps
        K.
    """
    import torch

    coordinates, basis = training.row_space
    F = torch.from_numpy(np.ascontiguousarray(training.F, dtype=np.float32))
    T = torch.from_numpy(coordinates.astype(np.float32))
    labels = torch.from_numpy(training.labels)
    generator = torch.Generator().manual_seed(training.random_state)
    (n, d_f), (p, r), k = F.shape, T.shape, len(decays)
    A = torch.zeros(d_f, k, n_maps, r)
    if n_maps > 1:  # drawn for semantics, so that their coordinates do not matter
        drawn = torch.randn(n_maps, d_f, len(basis), generator=generator)
        drawn = START * drawn @ torch.from_numpy(basis.astype(np.float32))
        A[:] = drawn.movedim(0, 1)[:, None]
    shrinkage = torch.tensor(decays).repeat_interleave(n_maps * r)
    A = A.reshape(d_f, k * n_maps * r)
    velocity = torch.zeros_like(A)
    n_steps = n_epochs * -(-n // BATCH)
    step = 0
    with quick_products():
        for _ in range(n_epochs):
            order = torch.randperm(n, generator=generator)
            for f, y in zip(*in_batches(order, F, labels), strict=True):
                placed = (f @ A).reshape(-1, n_maps, r)  # (B k, K, r)
                scores = placed.reshape(-1, r) @ T.T
                best, chosen = _highest(scores.reshape(-1, n_maps, p))
                shares = gradient(best, y.repeat_interleave(k)) / len(f)
                if chosen is not None:
                    shares = (shares[:, None] * chosen).reshape(-1, p)
                slope = (shares @ T).reshape(len(f), -1)
                torch.addmm(velocity, f.T, slope, beta=MOMENTUM, out=velocity)
                velocity.addcmul_(A, shrinkage)
                A.sub_(velocity, alpha=learning_rate * (1 - step / n_steps))
                step += 1
    found = A.double().reshape(d_f, k, n_maps, r).permute(1, 2, 0, 3).numpy()
    return [[SemanticMap(np.ascontiguousarray(W), basis) for W in maps] for maps in found]


def in_batches(order: Tensor, *rows: Tensor) -> list[Sequence[Tensor]]:
    """Return each of these (N, ...) in this order, cut into batches."""
    import torch

    return [torch.split(one[order], BATCH) for one in rows]


def _highest(scores: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return the highest score (n, p) of each class over its maps (n, K, p), and which it is."""
    import torch

    if scores.shape[1] == 1:
        return scores[:, 0], None
    best, which = scores.max(dim=1, keepdim=True)
    each = torch.arange(scores.shape[1])[:, None]
    return best[:, 0], which == each


def violations(scores: Tensor, labels: Tensor, margin: float) -> Tensor:
    """Return (B, p) by how much each wrong class is closer to the right one than the margin."""
    right = scores.gather(1, labels[:, None])
    short = (margin + scores - right).clamp(min=0)
    return short.scatter(1, labels[:, None], 0.0)


def against_right(weights: Tensor, labels: Tensor) -> Tensor:
    """Return the gradient of Σ weights · (wrong score − right score): (B, p)."""
    return weights.scatter_add(1, labels[:, None], -weights.sum(dim=1, keepdim=True))
