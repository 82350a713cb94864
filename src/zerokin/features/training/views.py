"""What the network is shown of a step's pictures: varied, with patches pasted in, turned."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from zerokin.features.input.augmentation import varied
from zerokin.features.training.batches import Batches
from zerokin.features.training.cutmix import Patch, check_pairs, draw_patch, pasted
from zerokin.features.training.manifold_mixup import NOWHERE, Mixup, draw_mixup
from zerokin.features.training.recipe import Recipe
from zerokin.features.training.rotation import turned, turns_of
from zerokin.features.training.schedule import side_at
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
    mixup
        Where in the network each is mixed with its neighbour; None where none is.
    copies
        How many of the last ones are turned copies of those before; ``turns`` is of them alone.
    """

    view: Tensor
    turns: Tensor | None = None
    patch: Patch | None = None
    mixup: Mixup | None = None
    copies: int = 0

    def others_share(self) -> float | None:
        """Return the share that neighbours have in each; None where they have none."""
        if self.patch is not None:
            return self.patch.share(self.view.shape[-1])
        return None if self.mixup is None else 1 - self.mixup.share

    def shares(self, places: int) -> Tensor | None:
        """Return λ of manifold mixup at a network's places, (places, B); None without mixup."""
        if self.mixup is None:
            return None
        n = len(self.view)
        return self.mixup.shares(
            places=places, mixed=n - self.copies, rows=n, device=self.view.device
        )


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
    places
        At which the network can mix hidden states (`Backbone.mixup_places`).
    """

    def __init__(
        self,
        recipe: Recipe,
        batches: Batches,
        side: int,
        device: torch.device,
        places: int = 1,
    ) -> None:
        recipe.check_growth(side)
        check_pairs(recipe, batches.part_size)
        self.places = places
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
        patch = turns = mixup = None
        copies: list[Tensor] = []
        if recipe.turns and recipe.manifold_mixup:
            turns = turns_of(share.start, len(view), evenly=True, device=self.device)
            copies = [turned(view, share.start, evenly=True)]
        if recipe.patches:
            patch = draw_patch(recipe.patches, seed=recipe.seed, step=step)
        if patch is not None:
            view = pasted(view, patch)
        if recipe.manifold_mixup:
            mixup = NOWHERE if patch is not None else self._mixup(step)
        elif recipe.turns:
            turns = turns_of(share.start, len(view), device=self.device)
            view = turned(view, share.start)
        if copies:
            view = torch.cat([view, *copies])
        view = view.contiguous(memory_format=torch.channels_last)
        return Shown(view, turns, patch, mixup, sum(map(len, copies)))

    def _mixup(self, step: int) -> Mixup:
        recipe = self.recipe
        return draw_mixup(recipe.manifold_mixup, self.places, seed=recipe.seed, step=step)

    def side_at(self, step: int) -> int:
        """Return the side of the views of a step."""
        recipe = self.recipe
        if recipe.first_side is None:
            return self.side
        epoch = step // self.batches.per_epoch
        return side_at(
            epoch,
            recipe.epochs,
            first=recipe.first_side,
            last=self.side,
            stages=recipe.resize_stages,
        )
