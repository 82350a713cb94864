"""Batches of ready features, where other networks have batches of images."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from zerokin.compute.device import to_device
from zerokin.errors import InvalidInput
from zerokin.features.input.sources import Rows, Source

BLOCK = 4096


class FeatureSource(Source):
    """Rows of a matrix of ready features, as float32 on the device.

    Parameters
    ----------
    features
        (N, d_in), in memory or mapped: rows are read when they are asked for, and must be finite.
    device
        Where batches are put.

    Examples
    --------
    >>> source = FeatureSource(np.arange(6.0).reshape(3, 2), torch.device("cpu"))
    >>> source.batch(np.array([2, 0]))
    tensor([[4., 5.],
            [0., 1.]])
    """

    def __init__(self, features: NDArray[np.floating], device: torch.device) -> None:
        super().__init__(device)
        self.features = features

    def __len__(self) -> int:
        return len(self.features)

    def batches(self, rows: Iterable[Rows]) -> Iterator[Tensor]:
        for chosen in rows:
            # A copy of its own: torch warns of arrays that are mapped read-only.
            vectors = np.array(self.features[chosen], dtype=np.float32)
            finite = np.isfinite(vectors).all(axis=1)
            if not finite.all():
                raise InvalidInput(
                    f"features hold NaN, infinity or a number beyond float32 in row "
                    f"{int(chosen[finite.argmin()]):,}: extract or fill them again"
                )
            yield to_device(torch.from_numpy(vectors), self.device)


def features_digest(source: Source) -> str:
    """Return a short hash of all features of a source."""
    content = hashlib.sha256()
    starts = range(0, len(source), BLOCK)
    for batch in source.batches(np.arange(s, min(s + BLOCK, len(source))) for s in starts):
        content.update(batch.cpu().numpy().tobytes())
    return content.hexdigest()[:16]
