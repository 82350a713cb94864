"""The optimizer that a recipe asks for."""

from __future__ import annotations

import torch

from zerokin.features.networks.network import FeatureNetwork
from zerokin.features.training.recipe import Recipe


def make_optimizer(
    network: FeatureNetwork, recipe: Recipe, device: torch.device
) -> torch.optim.Optimizer:
    """Return SGD with Nesterov's momentum, or AdamW, over backbone and head.

    Parameters
    ----------
    network
        What learns.
    recipe
        Rates, momentum and weight decay.
    device
        Where it learns.
    """
    groups = network.parameter_groups(recipe.lr, recipe.head_multiplier)
    # One kernel for all weights of a group, where launching kernels is what takes time.
    fused = device.type == "cuda" or None
    if recipe.optimizer == "adamw":
        return torch.optim.AdamW(groups, weight_decay=recipe.weight_decay, fused=fused)
    return torch.optim.SGD(
        groups,
        momentum=recipe.momentum,
        weight_decay=recipe.weight_decay,
        nesterov=recipe.momentum > 0,
        fused=fused,
    )
