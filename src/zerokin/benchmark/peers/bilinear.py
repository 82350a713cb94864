"""Bilinear scores f W sᵀ learned by ranking the right class first, with stochastic gradients.

DeViSE, ALE and SJE score alike and differ in their loss alone: each is a function from the scores
of a batch (B, p) to its gradient with respect to them (B, p). LatEm has several maps W, and the
highest of their scores counts.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

import numpy as np

from zerokin.benchmark.peers.peer import Peer
from zerokin.benchmark.peers.semantic_map import SemanticMap
from zerokin.benchmark.peers.training_set import Array, TrainingSet
from zerokin.parameters import Integer, Real, check_parameters

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
    """A peer that learns by ranking; points of a grid that differ in decay alone learn together."""

    fitted_together: ClassVar[str | None] = "decay"

    decay: float
    learning_rate: float
    n_epochs: int

    @abstractmethod
    def learn_maps(self, training: TrainingSet, decays: Sequence[float]) -> list[list[SemanticMap]]:
        """Return for every decay the maps that `rank_by_gradients` learns."""

    @classmethod
    def fit_together(cls, peers: Sequence[Self], training: TrainingSet, Z: Array) -> None:
        for peer in peers:
            check_parameters(peer)
        learned = peers[0].learn_maps(training, [peer.decay for peer in peers])
        for peer, maps in zip(peers, learned, strict=True):
            peer.maps_ = maps
            peer._keep_scales(training, Z)

    def learn(self, training: TrainingSet) -> None:
        [self.maps_] = self.learn_maps(training, [self.decay])

    def score(self, F: Array, Z: Array) -> Array:
        return self.maps_[0].bilinear(F, Z)


def rank_by_gradients(
    training: TrainingSet,
    gradient: RankingGradient,
    *,
    learning_rate: float,
    n_epochs: int,
    decays: Sequence[float],
    n_maps: int = 1,
) -> list[list[SemanticMap]]:
    """Return for every decay K maps W (d_f, d_z), learned by stochastic gradient descent.

    One map starts from zero, several start at random: equal ones would stay equal. They never leave
    the row space of S, so the descent runs in coordinates of it: the same numbers with p columns
    instead of d_z where there are fewer seen classes than semantics. All decays see the same
    batches, side by side: one large product takes less time than several small ones.

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
        Weights of Σ‖W_k‖²/2 beside the mean loss of a batch, each for maps of its own.
    n_maps
        K.
    """
    import torch

    coordinates, basis = training.row_space
    F = torch.from_numpy(np.ascontiguousarray(training.F, dtype=np.float32))
    T = torch.from_numpy(coordinates.astype(np.float32))
    labels = torch.from_numpy(training.labels)
    generator = torch.Generator().manual_seed(training.random_state)
    A = torch.zeros(F.shape[1], len(decays), n_maps, T.shape[1])
    if n_maps > 1:  # drawn for semantics, so that their coordinates do not matter
        drawn = torch.randn(n_maps, F.shape[1], len(basis), generator=generator)
        start = START * drawn @ torch.from_numpy(basis.astype(np.float32))
        A[:] = start.transpose(0, 1)[:, None]
    A = A.flatten(1)  # (d_f, decays · K · r)
    decay = torch.tensor(decays).repeat_interleave(n_maps * T.shape[1])
    velocity = torch.zeros_like(A)
    n_steps = n_epochs * -(-len(F) // BATCH)
    step = 0
    for _ in range(n_epochs):
        order = torch.randperm(len(F), generator=generator)
        for batch in torch.split(order, BATCH):
            f = F[batch]
            placed = (f @ A).reshape(len(f) * len(decays), n_maps, -1)
            scores, chosen = (placed @ T.T).max(dim=1)
            residual = gradient(scores, labels[batch].repeat_interleave(len(decays)))
            if n_maps == 1:
                shares = residual[:, None]
            else:
                shares = residual[:, None] * (chosen[:, None] == torch.arange(n_maps)[:, None])
            slope = f.T @ (shares @ T).reshape(len(f), -1)
            slope.div_(len(f)).addcmul_(A, decay)
            velocity.mul_(MOMENTUM).add_(slope)
            A.sub_(velocity, alpha=learning_rate * (1 - step / n_steps))
            step += 1
    maps = A.double().numpy().reshape(len(A), len(decays), n_maps, -1)
    return [[SemanticMap(maps[:, i, k], basis) for k in range(n_maps)] for i in range(len(decays))]


def violations(scores: Tensor, labels: Tensor, margin: float) -> Tensor:
    """Return (B, p) by how much each wrong class is closer to the right one than the margin."""
    right = scores.gather(1, labels[:, None])
    short = (margin + scores - right).clamp(min=0)
    return short.scatter(1, labels[:, None], 0.0)


def against_right(weights: Tensor, labels: Tensor) -> Tensor:
    """Return the gradient of Σ weights · (wrong score − right score): (B, p)."""
    return weights.scatter_add(1, labels[:, None], -weights.sum(dim=1, keepdim=True))
