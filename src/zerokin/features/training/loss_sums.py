"""Losses summed where they lie, so that no step waits for a device."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor


class LossSums:
    """Sums of losses by name, as one vector: a step adds to all of them at once.

    Examples
    --------
    >>> sums = LossSums()
    >>> for _ in range(3):
    ...     sums.add({"total": torch.tensor(1.5), "classes": torch.tensor(1.0)})
    >>> sums.names, sums.values
    (('total', 'classes'), tensor([4.5000, 3.0000], dtype=torch.float64))
    """

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        self.values: Tensor | None = None

    def add(self, losses: Mapping[str, Tensor]) -> None:
        """Add losses, of the same names every time."""
        self.names = tuple(losses)
        # In float64: a resumed sum must not differ by the rounding of a longer one.
        self._add(torch.stack(tuple(losses.values())).double())

    def add_all(self, others: LossSums) -> None:
        """Add other sums."""
        if others.values is not None:
            self.names = others.names
            self._add(others.values)

    def _add(self, values: Tensor) -> None:
        self.values = values if self.values is None else self.values + values
