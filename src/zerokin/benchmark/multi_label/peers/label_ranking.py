"""A bilinear map f W sᵀ that ranks a sample's labels above all others, by stochastic gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zerokin.benchmark.multi_label.peers.peer import LabelTraining

if TYPE_CHECKING:
    from torch import Tensor

    # How far wrong labels are ahead of right ones (M, p) → what each costs (M, p).
    PairLoss = Callable[[Tensor], Tensor]

BATCH = 128
RATE = 0.01


def rank_labels(
    training: LabelTraining, loss: PairLoss, *, n_epochs: int, decay: float
) -> NDArray[np.float64]:
    """Return W (d_f, d_z): the mean over samples of what their pairs cost on average is least.

    Pairs are those of a label that a sample has and one that it has not. Adam, its rate falling to
    zero linearly, starts from W = 0.

    Parameters
    ----------
    training
        Features, labels and semantics of the seen classes; its seed draws the order of samples.
    loss
        What a pair costs, by how far its wrong label is ahead.
    n_epochs
        How often every sample is seen.
    decay
        Weight of ‖W‖²/2 beside the mean loss.
    """
    import torch

    F = torch.from_numpy(np.ascontiguousarray(training.F, dtype=np.float32))
    S = torch.from_numpy(training.S.astype(np.float32))
    Y = torch.from_numpy(training.Y)
    generator = torch.Generator().manual_seed(training.random_state)
    W = torch.zeros(F.shape[1], S.shape[1], requires_grad=True)
    optimizer = torch.optim.Adam([W], lr=RATE)
    n_steps = n_epochs * -(-len(F) // BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / n_steps)
    for _ in range(n_epochs):
        for batch in torch.split(torch.randperm(len(F), generator=generator), BATCH):
            scores, labels = F[batch] @ W @ S.T, Y[batch]
            sample, right = labels.nonzero(as_tuple=True)
            ahead = scores[sample] - scores[sample, right][:, None]
            wrong = ~labels[sample]
            pairs = labels.sum(dim=1) * (~labels).sum(dim=1)
            costs = (loss(ahead) * wrong).sum(dim=1) / pairs[sample].clamp(min=1)
            total = costs.sum() / len(batch) + decay / 2 * W.square().sum()
            optimizer.zero_grad()
            total.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
    found: NDArray[np.float64] = W.detach().double().numpy()
    return found
