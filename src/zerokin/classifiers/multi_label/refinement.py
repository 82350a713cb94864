"""Refine a projection by ranking: every label of an image above all classes that it has not.

Least squares brings prototypes near to features. Whether an image's labels come before its other
classes is another question, and this asks it. The loss is the log-sum-exp pairwise one of LSEP
(Li et al., Improving Pairwise Ranking for Multi-Label Image Classification, CVPR 2017), a term a
label: Σ_c log(1 + Σ_w exp((s_w − s_c) / τ)) for labels c that an image has and classes w that it
has not. What is learned is D (d_f, d_z), added to the projection. So prototypes of unseen classes
move with those of seen ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

Matrix = NDArray[np.float64]

BATCH, RATE = 128, 0.01
TEMPERATURE, DECAY = 0.1, 1e-3
"""τ, and the weight of ‖D‖²/2."""
POOLING = 0.05
"""Temperature over regions while learning; chosen on the folds of Critters scenes."""


def refined_step(
    regions: NDArray[Any],
    labels: NDArray[np.bool_],
    semantics: Matrix,
    prototypes: Matrix,
    *,
    n_epochs: int,
    random_state: int = 0,
) -> Matrix:
    """Return D (d_f, d_z), by which prototypes (p, d_f) move to prototypes + Z Dᵀ.

    Adam, its rate falling to zero linearly, starts from D = 0.

    Parameters
    ----------
    regions
        (N, R, d_f) scaled features, of unit length.
    labels
        (N, p) which of the seen classes each image has.
    semantics
        (p, d_z) unit semantics Z of the seen classes.
    prototypes
        (p, d_f) of about unit length, where learning starts. Cosines with them are ranked.
    n_epochs
        How often every image is seen.
    random_state
        Seed of the order of images.
    """
    import torch

    F, Z, P = (
        torch.from_numpy(np.ascontiguousarray(given, dtype=np.float32))
        for given in (regions, semantics, prototypes)
    )
    Y = torch.from_numpy(labels)
    generator = torch.Generator().manual_seed(random_state)
    D = torch.zeros(P.shape[1], Z.shape[1], requires_grad=True)
    optimizer = torch.optim.Adam([D], lr=RATE)
    n_steps = n_epochs * -(-len(F) // BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / n_steps)
    for _ in range(n_epochs):
        for batch in torch.split(torch.randperm(len(F), generator=generator), BATCH):
            V = torch.nn.functional.normalize(P + Z @ D.T, dim=1)
            loss = pairwise_loss(pooled(F[batch] @ V.T), Y[batch])
            loss = loss + DECAY / 2 * D.square().sum()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
    found: Matrix = D.detach().double().numpy()
    return found


def pooled(scores: Tensor) -> Tensor:
    """Return scores of images (n, p) from those of their regions (n, R, p)."""
    if scores.shape[1] == 1:
        return scores[:, 0]
    return POOLING * ((scores / POOLING).logsumexp(dim=1) - float(np.log(scores.shape[1])))


def pairwise_loss(scores: Tensor, labels: Tensor) -> Tensor:
    """Return the mean over pairs of an image and its label of log(1 + Σ_w exp((s_w − s_c) / τ)).

    Parameters
    ----------
    scores, labels
        (n, p) of images and classes.
    """
    from torch.nn.functional import softplus

    # Of an image that has every class there is nothing to rank.
    image, label = (labels & ~labels.all(dim=1, keepdim=True)).nonzero(as_tuple=True)
    if not len(image):
        return 0 * scores.sum()
    ahead = (scores[image] - scores[image, label][:, None]) / TEMPERATURE
    wrong = ahead.masked_fill(labels[image], -float("inf"))
    return softplus(wrong.logsumexp(dim=1)).mean()
