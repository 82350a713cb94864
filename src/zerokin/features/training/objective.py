"""What a training minimizes, put together from its parts."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from zerokin.features.networks.head_outputs import HeadOutputs
from zerokin.features.networks.label_losses import label_set_loss
from zerokin.features.networks.losses import hierarchy_loss, semantic_loss
from zerokin.features.networks.network import FeatureNetwork
from zerokin.features.networks.semantic_head import SemanticHead
from zerokin.features.training.distillation import distillation_loss
from zerokin.features.training.recipe import Recipe


class Labels(NamedTuple):
    """What B images show: their classes (B,) and their superclasses in each layer (B, n_r).

    Of several labels an image: which classes (B, p) and superclasses (B, Σ r_l) it has.
    """

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
        loss = (
            partial(semantic_loss, mu=recipe.reconstruction)
            if isinstance(network.head, SemanticHead)
            else label_set_loss
            if getattr(network.head, "sigmoid", False)
            else hierarchy_loss
        )
        self.loss = partial(
            loss,
            class_weight=1 - recipe.distillation,
            label_smoothing=recipe.label_smoothing,
        )

    def __call__(
        self,
        outputs: HeadOutputs,
        labels: Labels,
        *,
        rotations: Tensor | None = None,
        taught: Tensor | None = None,
        others: tuple[float, Labels] | None = None,
        copies: int = 0,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss, with its gradient, and its parts by name, without weights.

        Parameters
        ----------
        outputs
            What the network answers to B images.
        labels
            Of these images, without copies.
        rotations
            Rotation labels, by how many quarters each image is turned, (B,), where the network
            predicts them; of each copy, where there are copies.
        taught
            A teacher's logits of the classes, (B, p), where there is a teacher.
        others
            Where something else is in the images, too (CutMix, mixup): its share, and its labels.
        copies
            Rotated copies of the images, at the end of the outputs. Their loss, that of their
            rotation included, has the weight ``rotation_weight``.
        """
        recipe = self.recipe
        if copies:
            n = len(outputs.classes) - copies
            mixed, taught_of_mixed = outputs.rows(slice(n)), None if taught is None else taught[:n]
            total, parts = self._labeled(mixed, labels, taught_of_mixed, others)
            outputs = outputs.rows(slice(n, None))
            part, _ = self._labeled(outputs, labels, None if taught is None else taught[n:], None)
            parts["copies"] = part.detach()
            total = total + recipe.rotation_weight * part
        else:
            total, parts = self._labeled(outputs, labels, taught, others)
        if outputs.rotations is not None and rotations is not None:
            part = functional.cross_entropy(outputs.rotations, rotations)
            parts["rotation"] = part.detach()
            total = total + recipe.rotation_weight * part
        return total, parts

    def _labeled(
        self,
        outputs: HeadOutputs,
        labels: Labels,
        taught: Tensor | None,
        others: tuple[float, Labels] | None,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of classes and superclasses, by labels and by a teacher's answers."""
        recipe = self.recipe
        # A network that learns classes alone has no layers, whatever the data have.
        weights = recipe.layer_weights(len(outputs.layers))
        total, parts = self.loss(outputs, *labels, weights)
        if others is not None:
            share, other_labels = others
            other, parts_of_other = self.loss(outputs, *other_labels, weights)
            total = torch.lerp(total, other, share)
            parts = {k: torch.lerp(part, parts_of_other[k], share) for k, part in parts.items()}
        if taught is not None:
            part = distillation_loss(outputs.classes, taught, recipe.temperature)
            parts["distillation"] = part.detach()
            total = total + recipe.distillation * part
        return total, parts
