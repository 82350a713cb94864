"""All randomness of a training as a function of seed and step: resuming has nothing to restore."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

ORDER, AUGMENTATION, DROPOUT, CUTMIX, MIXUP, EPISODE = 0, 1, 2, 3, 4, 5
CPU = torch.device("cpu")


def epoch_order(n: int, *, seed: int, epoch: int) -> NDArray[np.int64]:
    """Return the order in which an epoch shows n images.

    Examples
    --------
    >>> bool(np.all(np.sort(epoch_order(5, seed=0, epoch=3)) == np.arange(5)))
    True
    """
    return np.random.default_rng([seed, ORDER, epoch]).permutation(n)


def augmentation_generator(*, seed: int, step: int) -> torch.Generator:
    """Return the generator from which a step's data augmentation is drawn."""
    return torch.Generator().manual_seed(_mixed(seed, AUGMENTATION, step))


def cutmix_generator(*, seed: int, step: int) -> torch.Generator:
    """Return the generator from which the CutMix box of a step is drawn."""
    return torch.Generator().manual_seed(_mixed(seed, CUTMIX, step))


def mixup_rng(*, seed: int, step: int) -> np.random.Generator:
    """Return the generator from which a step's manifold mixup is drawn."""
    return np.random.default_rng([seed, MIXUP, step])


def episode_rng(*, seed: int, step: int) -> np.random.Generator:
    """Return the generator from which a step's episode is drawn."""
    return np.random.default_rng([seed, EPISODE, step])


def seed_dropout(
    *, seed: int, step: int, process: int, part: int, device: torch.device = CPU
) -> None:
    """Seed torch's own generators, of CPU and device, for one pass through the network."""
    mixed = _mixed(seed, DROPOUT, step, process, part)
    # Not torch.manual_seed: for every kind of device that is not in use it notes down where it was
    # called from, in every step.
    torch.default_generator.manual_seed(mixed)
    if device.type == "cuda":
        index = torch.cuda.current_device() if device.index is None else device.index
        torch.cuda.default_generators[index].manual_seed(mixed)


def _mixed(*numbers: int) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))
