"""Bilinear scores f W sᵀ learned by ranking the right class first, with stochastic gradients.

DeViSE, ALE and SJE score alike and differ in their loss alone: each is a function from the scores
of a batch (B, p) to its gradient with respect to them (B, p). LatEm has several maps W, and the
highest of their scores counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import numpy as np

from zerokin.benchmark.peers.semantic_map import SemanticMap
from zerokin.benchmark.peers.training_set import TrainingSet
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


def rank_by_gradients(
    training: TrainingSet,
    gradient: RankingGradient,
    *,
    learning_rate: float,
    n_epochs: int,
    decay: float,
    n_maps: int = 1,
) -> list[SemanticMap]:
    """Return K maps W (d_f, d_z) after stochastic gradient descent.

    One map starts from zero, several start at random: equal ones would stay equal. They never leave
    the row space of S, so the descent runs in coordinates of it: the same numbers with p columns
    instead of d_z where there are fewer seen classes than semantics.

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
    decay
        Weight of Σ‖W_k‖²/2 beside the mean loss of a batch.
    n_maps
        K.
    """
    import torch

    coordinates, basis = training.row_space
    F = torch.from_numpy(np.ascontiguousarray(training.F, dtype=np.float32))
    T = torch.from_numpy(coordinates.astype(np.float32))
    labels = torch.from_numpy(training.labels)
    generator = torch.Generator().manual_seed(training.random_state)
    A = torch.zeros(n_maps, F.shape[1], T.shape[1])
    if n_maps > 1:  # drawn for semantics, so that their coordinates do not matter
        drawn = torch.randn(n_maps, F.shape[1], len(basis), generator=generator)
        A = START * drawn @ torch.from_numpy(basis.astype(np.float32))
    velocity = torch.zeros_like(A)
    each = torch.arange(n_maps)[:, None, None]
    n_steps = n_epochs * -(-len(F) // BATCH)
    step = 0
    for _ in range(n_epochs):
        order = torch.randperm(len(F), generator=generator)
        for batch in torch.split(order, BATCH):
            f = F[batch]
            scores, chosen = (f @ A @ T.T).max(dim=0)
            residual = gradient(scores, labels[batch])
            shares = residual * (chosen == each)
            slope = (f.T @ (shares @ T)).div_(len(batch)).add_(decay * A)
            velocity.mul_(MOMENTUM).add_(slope)
            A -= learning_rate * (1 - step / n_steps) * velocity
            step += 1
    return [SemanticMap(W, basis) for W in A.double().numpy()]


def violations(scores: Tensor, labels: Tensor, margin: float) -> Tensor:
    """Return (B, p) by how much each wrong class is closer to the right one than the margin."""
    right = scores.gather(1, labels[:, None])
    short = (margin + scores - right).clamp(min=0)
    return short.scatter(1, labels[:, None], 0.0)


def against_right(weights: Tensor, labels: Tensor) -> Tensor:
    """Return the gradient of Σ weights · (wrong score − right score): (B, p)."""
    return weights.scatter_add(1, labels[:, None], -weights.sum(dim=1, keepdim=True))


def add_decay(weights: Sequence[Tensor], decay: float) -> None:
    """Add the gradient of decay · Σ‖W‖² to those that weights have: less work than through a loss.

    It comes to the same numbers, bit by bit.
    """
    import torch

    with torch.no_grad():
        for weight in weights:
            assert weight.grad is not None
            weight.grad.add_((2 * weight).mul_(decay))
