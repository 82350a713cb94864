"""What a training minimises, put together from its parts."""

from __future__ import annotations

from functools import partial

from torch import Tensor
from torch.nn import functional

from zerokin.features.networks.head_outputs import HeadOutputs
from zerokin.features.networks.losses import hierarchy_loss, semantic_loss
from zerokin.features.networks.network import FeatureNetwork
from zerokin.features.networks.semantic_head import SemanticHead
from zerokin.features.training.recipe import Recipe


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
        self.loss = (
            partial(semantic_loss, mu=recipe.reconstruction)
            if isinstance(network.head, SemanticHead)
            else hierarchy_loss
        )

    def __call__(
        self,
        outputs: HeadOutputs,
        class_labels: Tensor,
        layer_labels: Tensor,
        *,
        turns: Tensor | None = None,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss, with its gradient, and its parts by name, without weights.

        Parameters
        ----------
        outputs
            What the network answers to B pictures.
        class_labels, layer_labels
            As for `hierarchy_loss`.
        turns
            By how many quarters each picture is turned, (B,), where the network tells that, too.
        """
        recipe = self.recipe
        # A network that learns classes alone has no layers, whatever the data have.
        weights = recipe.layer_weights(len(outputs.layers))
        total, parts = self.loss(outputs, class_labels, layer_labels, weights)
        if outputs.turns is not None and turns is not None:
            part = functional.cross_entropy(outputs.turns, turns)
            parts["turns"] = part.detach()
            total = total + recipe.turns * part
        return total, parts
