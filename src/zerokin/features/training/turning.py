"""Pictures turned by quarters, for a network that is also taught which way up they were."""

from __future__ import annotations

import torch
from torch import Tensor

PERIOD = 6
"""Upright, by 90°, upright, by 180°, upright, by 270°, and again."""


def turns_of(start: int, n: int, *, device: torch.device | str = "cpu") -> Tensor:
    """Return the quarter turns of n pictures, (n,): half of them 0, the others 1, 2 or 3.

    They depend on a picture's place in the whole batch alone, whose order is drawn anew in every
    epoch: not on how a batch is cut or shared out.

    Parameters
    ----------
    start
        Place of the first one in the whole batch.
    n
        How many.
    device
        Where the answer is needed.

    Examples
    --------
    >>> turns_of(0, 8).tolist(), turns_of(3, 3).tolist()
    ([0, 1, 0, 2, 0, 3, 0, 1], [2, 0, 3])
    """
    place = torch.arange(start, start + n, device=device) % PERIOD
    return (place + 1) // 2 * (place % 2)


def turned(view: Tensor, start: int) -> Tensor:
    """Return square pictures (B, 3, S, S), each turned as `turns_of` says, counter-clockwise."""
    result = view.clone()
    for quarters in (1, 2, 3):
        # Slices, not masks: a mask would have to be counted, for which a GPU would be waited for.
        places = slice((2 * quarters - 1 - start) % PERIOD, None, PERIOD)
        result[places] = torch.rot90(view[places], quarters, dims=(2, 3))
    return result
