"""Weight interpolation with the start (WiSE-FT, Wortsman et al. 2022).

Training moves a backbone towards its training classes, and away from what it knew of all others:
for classes without images, weights between the two ends may serve better than the last ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from zerokin.features.training.ema import weights_and_statistics


class StartWeights:
    """Weights and statistics of a backbone before it learns, to interpolate with afterwards.

    Parameters
    ----------
    backbone
        As it begins; a copy of its weights is kept.
    share
        How far to go back, 1 − α of WiSE-FT: 0 stays with what was learned, 1 returns to the start.

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
        self.tensors = _copies(backbone) if share else []

    def mix_in(self) -> None:
        """Move the backbone's weights towards where they began."""
        for value, start in zip(self._live(), self.tensors, strict=True):
            value.lerp_(start.to(value), self.share)

    @contextmanager
    def mixed_in(self) -> Iterator[None]:
        """Let the backbone have the mixed weights for a while."""
        learned = _copies(self.backbone) if self.share else []
        self.mix_in()
        try:
            yield
        finally:
            for value, before in zip(self._live(), learned, strict=True):
                value.copy_(before)

    def _live(self) -> list[Tensor]:
        """Return what is moved: nothing where the share is 0."""
        found = weights_and_statistics(self.backbone).values() if self.share else []
        return [value.detach() for value in found]


def _copies(backbone: nn.Module) -> list[Tensor]:
    return [value.detach().clone() for value in weights_and_statistics(backbone).values()]
