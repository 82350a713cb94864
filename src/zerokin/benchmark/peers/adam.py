"""Adam whose learning rate falls to zero linearly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def falling_adam(
    weights: Sequence[Tensor],
    learning_rate: float,
    n_steps: int,
    betas: tuple[float, float] = (0.9, 0.999),
) -> Callable[[], None]:
    """Return a step of Adam (Kingma & Ba, ICLR 2015) along the gradients that weights have.

    Parameters
    ----------
    weights
        What is moved, in one pass over each.
    learning_rate
        Of the first step; it is zero after ``n_steps`` and stays so.
    n_steps
        Steps.
    betas
        Decays of the two moments.
    """
    import torch

    optimizer = torch.optim.Adam(weights, learning_rate, betas, fused=True)
    [group] = optimizer.param_groups
    done = 0

    def step() -> None:
        nonlocal done
        for weight in weights:  # the one pass reads gradients as they lie in memory
            assert weight.grad is not None
            weight.grad = weight.grad.contiguous()
        group["lr"] = learning_rate * max(0.0, 1 - done / n_steps)
        optimizer.step()
        done += 1

    return step
