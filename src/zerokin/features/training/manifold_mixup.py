"""Manifold mixup (Verma et al. 2019): hidden states of two samples, and their losses, mixed."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from zerokin.compute.device import to_device
from zerokin.features.training.rng import mixup_rng


@dataclass(frozen=True)
class Mixup:
    """Where in the network, and how much, the samples of a step are mixed.

    Parameters
    ----------
    place
        0: the input; from 1 on, the places that a backbone offers between its blocks.
    share
        λ, the sample's own share; its neighbor has the rest.

    Examples
    --------
    >>> Mixup(place=1, share=0.75).shares(places=3, mixed=2, rows=3)
    tensor([[1.0000, 1.0000, 1.0000],
            [0.7500, 0.7500, 1.0000],
            [1.0000, 1.0000, 1.0000]])
    """

    place: int
    share: float

    def shares(
        self, *, places: int, mixed: int, rows: int, device: torch.device | str = "cpu"
    ) -> Tensor:
        """Return λ at every place for every sample, (places, rows): 1 where nothing is mixed.

        Parameters
        ----------
        places
            At which the network can mix.
        mixed
            Samples that are mixed, the first ones of the rows.
        rows
            All samples that the network is shown.
        device
            Where they are needed.
        """
        shares = torch.ones(places, rows)
        shares[self.place, :mixed] = self.share
        return to_device(shares, torch.device(device))


NOWHERE = Mixup(place=0, share=1.0)


def draw_mixup(alpha: float, places: int, *, seed: int, step: int) -> Mixup:
    """Draw the mixup of a step: λ ~ Beta(α, α), the place uniformly.

    Parameters
    ----------
    alpha
        α of the Beta distribution: 2 as in S2M2 (Mangla et al. 2020); 1 is uniform.
    places
        At which the network can mix.
    seed, step
        Decide what is drawn, whatever device and process ask.

    Examples
    --------
    >>> draw_mixup(2.0, 4, seed=0, step=7) == draw_mixup(2.0, 4, seed=0, step=7)
    True
    """
    rng = mixup_rng(seed=seed, step=step)
    return Mixup(place=int(rng.integers(places)), share=float(rng.beta(alpha, alpha)))
