"""Pictures turned by quarters, for a network that is also taught which way up they were."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

PERIOD = 6
"""Upright, by 90°, upright, by 180°, upright, by 270°, and again."""


def turns_of(
    start: int, n: int, *, evenly: bool = False, device: torch.device | str = "cpu"
) -> Tensor:
    """Return the quarter turns of n pictures, (n,): half of them 0, the others 1, 2 or 3.

    They depend on a picture's place in the whole batch alone, whose order is drawn anew in every
    epoch: not on how a batch is cut or shared out.

    Parameters
    ----------
    start
        Place of the first one in the whole batch.
    n
        How many.
    evenly
        A quarter each of 0, 1, 2 and 3 instead.
    device
        Where the answer is needed.

    Examples
    --------
    >>> turns_of(0, 8).tolist(), turns_of(3, 3).tolist()
    ([0, 1, 0, 2, 0, 3, 0, 1], [2, 0, 3])
    >>> turns_of(2, 5, evenly=True).tolist()
    [2, 3, 0, 1, 2]
    """
    return _turns_of(start % (4 if evenly else PERIOD), n, evenly, torch.device(device))


@lru_cache(maxsize=32)
def _turns_of(start: int, n: int, evenly: bool, device: torch.device) -> Tensor:
    # Not a tensor of inference mode, should somebody be in it: no loss could be made with that.
    with torch.inference_mode(False):
        if evenly:
            return (torch.arange(start, start + n) % 4).to(device)
        place = torch.arange(start, start + n) % PERIOD
        return ((place + 1) // 2 * (place % 2)).to(device)


def turned(view: Tensor, start: int, *, evenly: bool = False) -> Tensor:
    """Return square pictures (B, 3, S, S), each turned as `turns_of` says, counter-clockwise."""
    turns = turns_of(start, len(view), evenly=evenly, device=view.device)
    pixels = _turned_pixels(view.shape[-1], view.device)[turns]
    # One kernel for all: turned one after the other, pictures would take a GPU's time for launches.
    found = view.flatten(2).gather(2, pixels[:, None].expand(-1, view.shape[1], -1))
    return found.view(view.shape)


@lru_cache(maxsize=32)
def _turned_pixels(side: int, device: torch.device) -> Tensor:
    """Return which pixel is shown at each place of a picture turned by 0, 1, 2, 3: (4, side²)."""
    upright = torch.arange(side * side).view(side, side)
    turned = [torch.rot90(upright, quarters).flatten() for quarters in range(4)]
    return torch.stack(turned).to(device)
