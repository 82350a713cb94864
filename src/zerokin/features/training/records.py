"""What a training is given, and what it keeps account of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Targets(NamedTuple):
    """What the pictures show."""

    classes: NDArray[np.int64]
    """(N,): 0 … p − 1 among the seen classes"""
    layers: NDArray[np.int64]
    """(N, n_r): the superclass in each layer"""


@dataclass(frozen=True)
class Epoch:
    """What an epoch came to."""

    epoch: int
    step: int
    loss: dict[str, float]
    seconds: float
    pictures_per_second: float
    validation: float | None = None


@dataclass
class Progress:
    """How far a training is: all of its state that is no tensor."""

    step: int = 0
    sums: dict[str, float] = field(default_factory=dict)
    epochs: list[dict[str, Any]] = field(default_factory=list)
    best_epoch: int = 0
    best_score: float = float("-inf")
