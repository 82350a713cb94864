"""Mixup of hidden states: each sample's interpolated with those of its neighbor in the batch."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn


def neighbors(given: Tensor) -> Tensor:
    """Return what the other one of every pair has: 1, 0, 3, 2, … of an even number of entries.

    Pairs, and not the whole batch: so it does not matter how a batch is cut or shared out.

    Examples
    --------
    >>> import torch
    >>> neighbors(torch.arange(6)).tolist()
    [1, 0, 3, 2, 5, 4]
    """
    pairs = given.view(len(given) // 2, 2, *given.shape[1:])
    return pairs.flip(1).flatten(0, 1)


def mix_neighbors(hidden: Tensor, shares: Tensor) -> Tensor:
    """Interpolate hidden states: λ h + (1 − λ) h′, h′ being the neighbor's (Zhang et al. 2018).

    Parameters
    ----------
    hidden
        (B, ...), with an even B.
    shares
        λ of every sample, (B,); 1 leaves it as it is.

    Examples
    --------
    >>> import torch
    >>> mix_neighbors(torch.tensor([[0.0], [8.0]]), torch.tensor([0.75, 1.0])).tolist()
    [[2.0], [8.0]]
    """
    own = shares.to(hidden.dtype).view(-1, *[1] * (hidden.ndim - 1))
    return neighbors(hidden).lerp(hidden, own)


class Stages(nn.Sequential):
    """Blocks one after the other, before some of which hidden states can be mixed.

    Parameters
    ----------
    blocks
        As for `torch.nn.Sequential`, whose names its weights keep.
    mixed_before
        Numbers of the blocks, from 0, before which hidden states are mixed.
    """

    def __init__(self, *blocks: nn.Module, mixed_before: Sequence[int]) -> None:
        super().__init__(*blocks)
        self.mixed_before = tuple(mixed_before)

    def forward(self, hidden: Tensor, shares: Tensor | None = None) -> Tensor:
        """Return the last block's output.

        Parameters
        ----------
        hidden
            What the first block reads, (B, ...).
        shares
            λ at every place to mix at, (len(mixed_before), B); None mixes nowhere. All places are
            gone through, so that one compiled graph serves every step.
        """
        for number, block in enumerate(self):
            if shares is not None and number in self.mixed_before:
                hidden = mix_neighbors(hidden, shares[self.mixed_before.index(number)])
            hidden = block(hidden)
        return hidden
