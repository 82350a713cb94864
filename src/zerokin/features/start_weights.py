"""Weights part of the way back to where their training began.

Training moves a backbone towards its training classes, and away from what it knew of all others.
Between the two ends lie weights that serve classes without pictures better than either.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class StartWeights:
    """The weights and statistics that a backbone has before it learns.

    Parameters
    ----------
    backbone
        As it begins; a copy of its weights is kept.
    share
        How far to go back: 0 stays with what was learned, 1 returns to the start.

    Examples
    --------
    >>> layer = nn.Linear(1, 1)
    >>> _ = nn.init.zeros_(layer.weight)
    >>> start = StartWeights(layer, 0.25)
    >>> _ = nn.init.ones_(layer.weight)
    >>> start.mix_in()
    >>> layer.weight.item()
    0.75
    """

    def __init__(self, backbone: nn.Module, share: float) -> None:
        self.backbone, self.share = backbone, share
        self.tensors = [value.detach().clone() for value in self._live()] if share else []

    def mix_in(self) -> None:
        """Move the backbone's weights towards where they began."""
        if self.share:
            live = self._live()
            torch._foreach_lerp_(live, [t.to(v) for t, v in self._pairs(live)], self.share)

    @contextmanager
    def mixed_in(self) -> Iterator[None]:
        """Let the backbone have the mixed weights for a while."""
        kept = [value.clone() for value in self._live()] if self.share else []
        self.mix_in()
        try:
            yield
        finally:
            for value, before in zip(self._live() if self.share else [], kept, strict=True):
                value.copy_(before)

    def _pairs(self, live: list[Tensor]) -> Iterator[tuple[Tensor, Tensor]]:
        return zip(self.tensors, live, strict=True)

    def _live(self) -> list[Tensor]:
        """Weights and statistics; counters and the like stay."""
        state = self.backbone.state_dict(keep_vars=True)
        return [value.detach() for value in state.values() if value.is_floating_point()]
