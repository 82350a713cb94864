"""Batches of a training on ready features: nothing to augment, but mixup where a recipe asks."""

from __future__ import annotations

import torch
from torch import Tensor

from zerokin.errors import InvalidInput, shown
from zerokin.features.input.augmentation import Augmentation
from zerokin.features.networks.vector_backbones import VECTOR
from zerokin.features.training.batch_sampler import BatchSampler
from zerokin.features.training.cutmix import check_pairs
from zerokin.features.training.manifold_mixup import draw_mixup
from zerokin.features.training.recipe import Recipe
from zerokin.features.training.training_batch import TrainingBatch

OF_IMAGES = (
    "image_size",
    "initial_image_size",
    "resize_stages",
    "rotation_weight",
    "cutmix_prob",
    "augmentation",
)
"""What a recipe may ask for that only images have."""


def check_vector_recipe(recipe: Recipe) -> None:
    """Refuse a recipe that asks for what only images have.

    Examples
    --------
    >>> check_vector_recipe(Recipe(cutmix_prob=0.5))
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: cutmix_prob 0.5 is for images, not for ready features: leave it out
    """
    usual = Recipe()
    for name in OF_IMAGES:
        value = getattr(recipe, name)
        if value == getattr(usual, name):
            continue
        told = name if isinstance(value, Augmentation) else f"{name} {shown(value)}"
        raise InvalidInput(f"{told} is for images, not for ready features: leave it out")


def check_fits(recipe: Recipe, backbone: str) -> None:
    """Refuse a recipe for images where a backbone, by its name, reads ready features."""
    if backbone in VECTOR:
        check_vector_recipe(recipe)


class VectorBatches:
    """Batches of ready features, with mixup: a function of seed and step, as the sampler is.

    Parameters
    ----------
    recipe
        Of which mixup counts here.
    sampler
        Which samples the steps have.
    device
        Where they are needed.
    """

    def __init__(self, recipe: Recipe, sampler: BatchSampler, device: torch.device) -> None:
        check_vector_recipe(recipe)
        check_pairs(recipe, sampler.part_size)
        self.recipe, self.device, self.places = recipe, device, 1

    def make_batch(self, images: Tensor, step: int, part: int) -> TrainingBatch:
        """Return the batch of a part of a step; ``images`` are features (B, d_in)."""
        del part  # all of them are mixed alike
        recipe, mixup = self.recipe, None
        if recipe.manifold_mixup:
            mixup = draw_mixup(recipe.manifold_mixup, self.places, seed=recipe.seed, step=step)
        return TrainingBatch(images.to(self.device, non_blocking=True), mixup=mixup)
