"""What a training minimises, put together from its parts."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from zerokin.features.networks.head_outputs import HeadOutputs
from zerokin.features.networks.losses import hierarchy_loss, semantic_loss
from zerokin.features.networks.network import FeatureNetwork
from zerokin.features.networks.semantic_head import SemanticHead
from zerokin.features.training.distillation import distillation_loss
from zerokin.features.training.recipe import Recipe


class Labels(NamedTuple):
    """What B pictures show: their classes (B,) and their superclasses in each layer (B, n_r)."""

    classes: Tensor
    layers: Tensor


class Objective:
    """The loss of a network's answers.

    Parameters
    ----------
    network
        What learns.
    recipe
        Weights of the parts.
    """

    def __init__(self, network: FeatureNetwork, recipe: Recipe) -> None:
        self.recipe = recipe
        class_weight = 1 - recipe.distillation
        self.loss = (
            partial(semantic_loss, mu=recipe.reconstruction, class_weight=class_weight)
            if isinstance(network.head, SemanticHead)
            else partial(hierarchy_loss, class_weight=class_weight)
        )

    def __call__(
        self,
        outputs: HeadOutputs,
        labels: Labels,
        *,
        turns: Tensor | None = None,
        taught: Tensor | None = None,
        patches: tuple[float, Labels] | None = None,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss, with its gradient, and its parts by name, without weights.

        Parameters
        ----------
        outputs
            What the network answers to B pictures.
        labels
            Of these pictures.
        turns
            By how many quarters each picture is turned, (B,), where the network tells that, too.
        taught
            A teacher's logits of the classes, (B, p), where there is a teacher.
        patches
            Where something is pasted into the pictures: the share of their area, and the labels of
            what is pasted.
        """
        recipe = self.recipe
        # A network that learns classes alone has no layers, whatever the data have.
        weights = recipe.layer_weights(len(outputs.layers))
        total, parts = self.loss(outputs, *labels, weights)
        if patches is not None:
            share, others = patches
            other, parts_of_other = self.loss(outputs, *others, weights)
            total = torch.lerp(total, other, share)
            parts = {k: torch.lerp(part, parts_of_other[k], share) for k, part in parts.items()}
        if taught is not None:
            part = distillation_loss(outputs.classes, taught, recipe.temperature)
            parts["distillation"] = part.detach()
            total = total + recipe.distillation * part
        if outputs.turns is not None and turns is not None:
            part = functional.cross_entropy(outputs.turns, turns)
            parts["turns"] = part.detach()
            total = total + recipe.turns * part
        return total, parts
