"""How the pictures of every step are varied, prepared for several steps at once."""

from __future__ import annotations

import torch

from zerokin.features.input.augmentation import Augmentation, Variation, variation_of
from zerokin.features.training.rng import variation_generator

AHEAD = 32


class Variations:
    """The variations of a training's pictures: functions of seed and step, as its batches are.

    A draw is many operations on few numbers, which would take the time of every step: so the steps
    of a block draw each their own numbers, and share the operations and the way to the device.

    Parameters
    ----------
    augmentation
        How pictures are varied.
    n
        Pictures of a step, over all processes and parts.
    seed
        Of the training.
    device
        Where the pictures are varied.

    Examples
    --------
    >>> varied = Variations(Augmentation(), 6, seed=0, device=torch.device("cpu"))
    >>> varied.at(40, slice(2, 5)).maps.shape
    torch.Size([3, 3, 2])
    """

    def __init__(
        self, augmentation: Augmentation, n: int, *, seed: int, device: torch.device
    ) -> None:
        self.augmentation, self.n, self.seed, self.device = augmentation, n, seed, device
        self._block = -1
        self._variation: Variation

    def at(self, step: int, share: slice) -> Variation:
        """Return what a step does to the pictures in a share of its batch."""
        block, place = divmod(step, AHEAD)
        if block != self._block:
            self._variation, self._block = self._drawn(block), block
        start = place * self.n
        return self._variation.part(slice(start + share.start, start + share.stop))

    def _drawn(self, block: int) -> Variation:
        uniform = [
            self.augmentation.uniform(self.n, variation_generator(seed=self.seed, step=step))
            for step in range(block * AHEAD, (block + 1) * AHEAD)
        ]
        drawn = self.augmentation.of(torch.cat(uniform))
        return variation_of(drawn, self.device, recoloured=self.augmentation.recolours)
