"""What the network is shown of a step's pictures: varied, with patches pasted in, turned."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from zerokin.features.input.augmentation import varied
from zerokin.features.training.batches import Batches
from zerokin.features.training.pasting import Patch, check_pairs, draw_patch, pasted
from zerokin.features.training.recipe import Recipe
from zerokin.features.training.schedule import side_at
from zerokin.features.training.turning import turned, turns_of
from zerokin.features.training.variations import Variations


class Shown(NamedTuple):
    """What a network is shown.

    Parameters
    ----------
    view
        Pictures in 0..1, (B, 3, S, S), channels last.
    turns
        By how many quarters each is turned, (B,); None where none is.
    patch
        Where each has a patch of its neighbour; None where none has.
    """

    view: Tensor
    turns: Tensor | None = None
    patch: Patch | None = None


class Views:
    """The views of a training: functions of seed and step, as its batches are.

    Parameters
    ----------
    recipe
        How pictures are varied.
    batches
        Which pictures the steps have.
    side
        Of the views, at the end of the training.
    device
        Where they are made.
    """

    def __init__(self, recipe: Recipe, batches: Batches, side: int, device: torch.device) -> None:
        recipe.check_growth(side)
        check_pairs(recipe.patches, batches.part_size)
        self.recipe, self.batches, self.side, self.device = recipe, batches, side, device
        self.variations = Variations(
            recipe.augmentation, batches.size, seed=recipe.seed, device=device
        )

    @torch.no_grad()
    def of(self, pictures: Tensor, step: int, part: int) -> Shown:
        """Return what is shown of the pictures of a part of a step."""
        recipe, share = self.recipe, self.batches.share(part)
        pictures = pictures.to(self.device, non_blocking=True)
        view = varied(pictures, self.variations.at(step, share), self.side_at(step))
        patch = turns = None
        if recipe.patches:
            patch = draw_patch(recipe.patches, seed=recipe.seed, step=step)
        if patch is not None:
            view = pasted(view, patch)
        if recipe.turns:
            turns = turns_of(share.start, len(view), device=self.device)
            view = turned(view, share.start)
        return Shown(view.contiguous(memory_format=torch.channels_last), turns, patch)

    def side_at(self, step: int) -> int:
        """Return the side of the views of a step."""
        recipe = self.recipe
        if recipe.first_side is None:
            return self.side
        epoch = step // self.batches.per_epoch
        return side_at(epoch, recipe.epochs, first=recipe.first_side, last=self.side)
