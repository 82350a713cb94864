"""SimpleShot: nearest mean after centering on the base classes and scaling to unit length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from zerokin.benchmark.few_shot.peers.peer import Array, FewShotPeer
from zerokin.benchmark.few_shot.peers.prototypical import nearest_means


@dataclass
class SimpleShot(FewShotPeer):
    """The prototypical rule with one normalization: less the base mean, then unit length."""

    name: ClassVar[str] = "simple-shot"
    reference: ClassVar[str] = (
        "Wang, Chao, Weinberger & van der Maaten, SimpleShot: Revisiting Nearest-Neighbor "
        "Classification for Few-Shot Learning, 2019"
    )
    normalizations: ClassVar[Sequence[str]] = ("center-unit",)

    def score(self, shots: Array, queries: Array) -> Array:
        return nearest_means(shots.mean(axis=2), queries)
