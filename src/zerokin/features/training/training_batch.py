"""Batches of a training: images augmented, cut and mixed (CutMix, mixup) and rotated."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from zerokin.features.input.augmentation import apply_transform
from zerokin.features.training.batch_sampler import BatchSampler
from zerokin.features.training.cutmix import CutMixBox, apply_cutmix, check_pairs, draw_cutmix_box
from zerokin.features.training.manifold_mixup import NOWHERE, Mixup, draw_mixup
from zerokin.features.training.recipe import Recipe
from zerokin.features.training.rotation import rotate_images, rotation_labels
from zerokin.features.training.schedule import image_size_at
from zerokin.features.training.step_augmentation import StepAugmentation


class TrainingBatch(NamedTuple):
    """A batch of augmented images, with what was done to them.

    Parameters
    ----------
    view
        Images in 0..1, (B, 3, S, S), channels last.
    rotations
        Rotation labels, by how many quarters each is turned, (B,); None where none is.
    cutmix
        Where each has a box of its neighbor; None where none has.
    mixup
        Where in the network each is mixed with its neighbor; None where none is.
    copies
        How many of the last ones are rotated copies of those before; ``rotations`` is of them.
    """

    view: Tensor
    rotations: Tensor | None = None
    cutmix: CutMixBox | None = None
    mixup: Mixup | None = None
    copies: int = 0

    def others_share(self) -> float | None:
        """Return the share that neighbors have in each; None where they have none."""
        if self.cutmix is not None:
            return self.cutmix.share(self.view.shape[-1])
        return None if self.mixup is None else 1 - self.mixup.share

    def shares(self, places: int) -> Tensor | None:
        """Return λ of manifold mixup at a network's places, (places, B); None without mixup."""
        if self.mixup is None:
            return None
        n = len(self.view)
        return self.mixup.shares(
            places=places, mixed=n - self.copies, rows=n, device=self.view.device
        )


class BatchAugmenter:
    """Augment the batches of a training: a function of seed and step, as the sampler is.

    Parameters
    ----------
    recipe
        Augmentation, CutMix, mixup, rotation and progressive resizing.
    sampler
        Which images the steps have.
    image_size
        At the end of the training.
    device
        Where they are made.
    places
        At which the network can mix hidden states (`Backbone.mixup_places`).
    """

    def __init__(
        self,
        recipe: Recipe,
        sampler: BatchSampler,
        image_size: int,
        device: torch.device,
        places: int = 1,
    ) -> None:
        recipe.check_growth(image_size)
        check_pairs(recipe, sampler.part_size)
        self.places = places
        self.recipe, self.sampler, self.device = recipe, sampler, device
        self.image_size = image_size
        self.augmentation = StepAugmentation(
            recipe.augmentation, sampler.size, seed=recipe.seed, device=device
        )

    @torch.no_grad()
    def make_batch(self, images: Tensor, step: int, part: int) -> TrainingBatch:
        """Return the augmented batch of a part of a step."""
        recipe, share = self.recipe, self.sampler.share(part)
        images = images.to(self.device, non_blocking=True)
        transform = self.augmentation.at(step, share)
        view = apply_transform(images, transform, self.image_size_at(step))
        cutmix = rotations = mixup = None
        copies: list[Tensor] = []
        if recipe.rotation_weight and recipe.manifold_mixup:
            rotations = rotation_labels(share.start, len(view), evenly=True, device=self.device)
            copies = [rotate_images(view, share.start, evenly=True)]
        if recipe.cutmix_prob:
            cutmix = draw_cutmix_box(recipe.cutmix_prob, seed=recipe.seed, step=step)
        if cutmix is not None:
            view = apply_cutmix(view, cutmix)
        if recipe.manifold_mixup:
            mixup = NOWHERE if cutmix is not None else self._mixup(step)
        elif recipe.rotation_weight:
            rotations = rotation_labels(share.start, len(view), device=self.device)
            view = rotate_images(view, share.start)
        if copies:
            view = torch.cat([view, *copies])
        view = view.contiguous(memory_format=torch.channels_last)
        return TrainingBatch(view, rotations, cutmix, mixup, sum(map(len, copies)))

    def _mixup(self, step: int) -> Mixup:
        recipe = self.recipe
        return draw_mixup(recipe.manifold_mixup, self.places, seed=recipe.seed, step=step)

    def image_size_at(self, step: int) -> int:
        """Return the size of the images of a step."""
        recipe = self.recipe
        if recipe.initial_image_size is None:
            return self.image_size
        epoch = step // self.sampler.per_epoch
        return image_size_at(
            epoch,
            recipe.epochs,
            first=recipe.initial_image_size,
            last=self.image_size,
            stages=recipe.resize_stages,
        )
