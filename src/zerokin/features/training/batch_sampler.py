"""Batch sampler: which images a step learns from, and which a process and a part of it have."""

from __future__ import annotations

from collections.abc import Iterator

from zerokin.errors import InvalidInput
from zerokin.features.input.sources import Rows
from zerokin.features.training.rng import epoch_order


class BatchSampler:
    """The batches of a training: functions of seed and step, so that nothing has to be saved.

    Parameters
    ----------
    n
        Training images.
    batch_size
        Images of a step; all of them where there are fewer.
    seed
        Draws the order of every epoch.
    parts
        Parts into which a batch is cut, to be learned from one after the other.
    processes, process
        How many share each part, and which of them this is.

    Examples
    --------
    >>> batches = BatchSampler(10, batch_size=4, seed=0, parts=2)
    >>> batches.per_epoch, batches.share(1)
    (2, slice(2, 4, None))
    >>> [(step, part, len(rows)) for step, part, rows in batches.of_epoch(0, first=1)]
    [(1, 0, 2), (1, 1, 2)]
    """

    def __init__(
        self,
        n: int,
        *,
        batch_size: int,
        seed: int,
        parts: int = 1,
        processes: int = 1,
        process: int = 0,
    ) -> None:
        self.n, self.size, self.seed = n, min(batch_size, n), seed
        self.parts, self.processes, self.process = parts, processes, process
        self.part_size, left = divmod(self.size, processes * parts)
        if left:
            raise InvalidInput(
                f"a batch of {self.size} cannot be shared evenly by {processes} processes × "
                f"{parts} accumulated parts: change batch_size"
            )
        # The rest of an epoch, less than a batch, is left out; another one in every epoch.
        self.per_epoch = n // self.size

    def of_epoch(self, epoch: int, *, first: int) -> Iterator[tuple[int, int, Rows]]:
        """Yield step, part and rows of all that this process learns from, from a step on."""
        order = epoch_order(self.n, seed=self.seed, epoch=epoch)
        for step in range(first, (epoch + 1) * self.per_epoch):
            start = (step - epoch * self.per_epoch) * self.size
            batch = order[start : start + self.size]
            for part in range(self.parts):
                yield step, part, batch[self.share(part)]

    def share(self, part: int) -> slice:
        """Return where in a batch this process's share of a part lies."""
        start = (part * self.processes + self.process) * self.part_size
        return slice(start, start + self.part_size)
