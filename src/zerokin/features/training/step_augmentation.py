"""Data augmentation of every step, drawn for several steps at once."""

from __future__ import annotations

import torch

from zerokin.features.input.augmentation import Augmentation, Transform, make_transform
from zerokin.features.training.rng import augmentation_generator

AHEAD = 32


class StepAugmentation:
    """Data augmentation of a training: a function of seed and step, as its batches are.

    A draw is many operations on few numbers, which would take the time of every step: so the steps
    of a block draw each their own numbers, and share the operations and the way to the device.

    Parameters
    ----------
    augmentation
        What is drawn.
    n
        Images of a step, over all processes and parts.
    seed
        Of the training.
    device
        Where the images are transformed.

    Examples
    --------
    >>> drawn = StepAugmentation(Augmentation(), 6, seed=0, device=torch.device("cpu"))
    >>> drawn.at(40, slice(2, 5)).maps.shape
    torch.Size([3, 3, 2])
    """

    def __init__(
        self, augmentation: Augmentation, n: int, *, seed: int, device: torch.device
    ) -> None:
        self.augmentation, self.n, self.seed, self.device = augmentation, n, seed, device
        self._block = -1
        self._transform: Transform

    def at(self, step: int, share: slice) -> Transform:
        """Return what a step does to the images in a share of its batch."""
        block, place = divmod(step, AHEAD)
        if block != self._block:
            self._transform, self._block = self._draw(block), block
        start = place * self.n
        return self._transform.part(slice(start + share.start, start + share.stop))

    def _draw(self, block: int) -> Transform:
        uniform = [
            self.augmentation.uniform(self.n, augmentation_generator(seed=self.seed, step=step))
            for step in range(block * AHEAD, (block + 1) * AHEAD)
        ]
        drawn = self.augmentation.from_uniform(torch.cat(uniform))
        return make_transform(drawn, self.device, recolored=self.augmentation.recolors)
