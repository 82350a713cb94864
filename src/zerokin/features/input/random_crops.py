"""Random crops for reading: every image has its own, drawn by a seed and by what it shows.

EASY (Bendou et al. 2022) averages features over random resized crops. Drawn by the image itself and
not by its place, crops are the same in any order, in any batch and on any device.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from zerokin.features.input.augmentation import Augmentation

RANDOM_CROPS = Augmentation(area=(0.08, 1.0), mirror=False)
"""Random resized crops, as in training (Szegedy et al. 2015; EASY)."""

PRIME = 8191
GOLDEN = 0x9E3779B97F4A7C15


def draw_random_crops(images: Tensor, n: int, *, seed: int) -> Tensor:
    """Draw n crops of each image, (B, n, 8) as `Augmentation.draw` draws them.

    Parameters
    ----------
    images
        (B, 3, S, S), uint8.
    n
        Crops of each.
    seed
        Another seed draws others.
    """
    flat = images.flatten(1).to(torch.int64)
    places = torch.arange(flat.shape[1], device=flat.device)
    # Two sums, so that few images share both by chance.
    shown = (flat * (places % PRIME + 1)).sum(1), (flat * (places**2 % PRIME + 1)).sum(1)
    first, second = (part.cpu().numpy().astype(np.uint64) for part in shown)
    with np.errstate(over="ignore"):
        keys = _mix(_mix(first + np.uint64(seed)) ^ second)
        counters = np.arange(1, 8 * n + 1, dtype=np.uint64) * np.uint64(GOLDEN)
        drawn = _mix(keys[:, None] + counters)
    uniform = (drawn >> np.uint64(40)).astype(np.float32) / np.float32(2**24)
    crops = RANDOM_CROPS.from_uniform(torch.from_numpy(uniform).view(-1, 8))
    return crops.view(len(images), n, 8)


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return hashes of 64 bits (the finalizer of SplitMix64: Steele, Lea & Flood 2014)."""
    mixed = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
