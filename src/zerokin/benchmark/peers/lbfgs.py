"""L-BFGS for convex losses of scores that are linear in what is sought."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

MEMORY = 8
"""Steps that are remembered."""

STEEP = 0.5
"""How steeply the loss may rise at the end of a step, in units of how it falls at the start."""

MOST_CUTS = 10


def minimize(
    slope: Callable[[Tensor, Tensor], Tensor],
    X: Tensor,
    n_models: int,
    *,
    max_iter: int,
    tol: float,
) -> Tensor:
    """Return V (d, k) at which a convex loss of the scores X V and of V is least.

    By L-BFGS (Nocedal, Mathematics of Computation 1980) from V = 0. Scores are carried along, so
    that a step costs one product with X and one with Xᵀ. A step that overshoots, so that the loss
    rises steeply at its end, is cut by the secant rule.

    Parameters
    ----------
    slope
        From V and its scores (n, k) to the gradient (d, k).
    X : (n, d)
        What scores are made with.
    n_models
        k.
    max_iter
        Most steps.
    tol
        Stop when the gradient has become this much shorter than the first one.
    """
    import torch

    V, scores = torch.zeros(X.shape[1], n_models), torch.zeros(len(X), n_models)
    steepest = slope(V, scores)
    first = float(steepest.norm())
    past: deque[tuple[Tensor, Tensor, float]] = deque(maxlen=MEMORY)
    for _ in range(max_iter):
        direction = _downhill(steepest, past)
        before, length = float((steepest * direction).sum()), 1.0
        if before >= 0:  # nothing is left to descend but rounding
            break
        change = X @ direction
        for _ in range(MOST_CUTS):
            found = slope(V + length * direction, scores + length * change)
            after = float((found * direction).sum())
            if after <= STEEP * -before:
                break
            length *= before / (before - after)
        step, bend = length * direction, found - steepest
        V, scores, steepest = V + step, scores.add_(change, alpha=length), found
        along = float((step * bend).sum())
        if along > 0:
            past.append((step, bend, 1 / along))
        if float(steepest.norm()) <= tol * first:
            break
    return V


def _downhill(steepest: Tensor, past: Sequence[tuple[Tensor, Tensor, float]]) -> Tensor:
    """Return L-BFGS's direction: minus the gradient, times an inverse Hessian of past steps."""
    direction = -steepest
    shares = []
    for step, bend, scale in reversed(past):
        shares.append(scale * float((step * direction).sum()))
        direction.sub_(bend, alpha=shares[-1])
    if past:
        _, bend, scale = past[-1]
        direction /= scale * float((bend * bend).sum())
    for (step, bend, scale), share in zip(past, reversed(shares), strict=True):
        direction.add_(step, alpha=share - scale * float((bend * direction).sum()))
    return direction
