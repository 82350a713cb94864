"""Exponential moving average (EMA) of a network's weights (Polyak & Juditsky 1992)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class WeightEMA:
    """Exponential moving average of all weights and statistics of a network over its steps.

    Parameters
    ----------
    network
        What to average; the average starts from its present weights.
    decay
        Share of the old average that a step keeps (0.999 is usual), once there have been enough
        of them.
    """

    def __init__(self, network: nn.Module, decay: float) -> None:
        self.decay = decay
        # Looked up once: to go through all modules of a network in every step takes its time.
        self.live = weights_and_statistics(network)
        self.tensors = {name: value.detach().clone() for name, value in self.live.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights after a step, counted from 1."""
        # Early on the average would hang on to the start: there it looks back over about a ninth
        # of the steps so far.
        share = 1 - min(self.decay, step / (step + 9))
        torch._foreach_lerp_(list(self.tensors.values()), list(self.live.values()), share)

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Go on from a saved average."""
        for name, value in self.tensors.items():
            value.copy_(tensors[name])

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Let the network have the averaged weights for a while."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def _swap(self) -> None:
        for name, value in self.live.items():
            kept = value.detach().clone()
            value.detach().copy_(self.tensors[name])
            self.tensors[name].copy_(kept)


def weights_and_statistics(network: nn.Module) -> dict[str, Tensor]:
    """Return all that can be averaged, by name: counters and the like cannot."""
    state = network.state_dict(keep_vars=True)
    return {name: value for name, value in state.items() if value.is_floating_point()}
