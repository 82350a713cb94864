"""Rotation prediction (RotNet, Gidaris et al. 2018): images and their labels."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

PERIOD = 6
"""Upright, by 90°, upright, by 180°, upright, by 270°, and again."""


def rotation_labels(
    start: int, n: int, *, evenly: bool = False, device: torch.device | str = "cpu"
) -> Tensor:
    """Return the rotation labels of n images, quarter turns (n,): half are 0, the others 1, 2 or 3.

    They depend on an image's place in the whole batch alone, whose order is drawn anew in every
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
    >>> rotation_labels(0, 8).tolist(), rotation_labels(3, 3).tolist()
    ([0, 1, 0, 2, 0, 3, 0, 1], [2, 0, 3])
    >>> rotation_labels(2, 5, evenly=True).tolist()
    [2, 3, 0, 1, 2]
    """
    return _rotation_labels(start % (4 if evenly else PERIOD), n, evenly, torch.device(device))


@lru_cache(maxsize=32)
def _rotation_labels(start: int, n: int, evenly: bool, device: torch.device) -> Tensor:
    # Not a tensor of inference mode, should somebody be in it: no loss could be made with that.
    with torch.inference_mode(False):
        if evenly:
            return (torch.arange(start, start + n) % 4).to(device)
        place = torch.arange(start, start + n) % PERIOD
        return ((place + 1) // 2 * (place % 2)).to(device)


def rotate_images(view: Tensor, start: int, *, evenly: bool = False) -> Tensor:
    """Return square images (B, 3, S, S), each rotated by its label, counter-clockwise."""
    labels = rotation_labels(start, len(view), evenly=evenly, device=view.device)
    pixels = _rotated_pixels(view.shape[-1], view.device)[labels]
    # One kernel for all: rotated one after the other, images would take a GPU's time for launches.
    found = view.flatten(2).gather(2, pixels[:, None].expand(-1, view.shape[1], -1))
    return found.view(view.shape)


@lru_cache(maxsize=32)
def _rotated_pixels(side: int, device: torch.device) -> Tensor:
    """Return which pixel is shown at each place of an image turned by 0, 1, 2, 3: (4, side²)."""
    upright = torch.arange(side * side).view(side, side)
    rotated = [torch.rot90(upright, quarters).flatten() for quarters in range(4)]
    return torch.stack(rotated).to(device)
