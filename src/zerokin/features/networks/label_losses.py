"""The loss of networks whose images have several labels: asymmetric, of classes and layers."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from zerokin.errors import InvalidInput
from zerokin.features.networks.head_outputs import HeadOutputs
from zerokin.features.networks.losses import layer_weights

FOCUS, MARGIN = 4.0, 0.05
"""γ₋ and m of the asymmetric loss, as its authors have them."""


def asymmetric_loss(
    logits: Tensor, labels: Tensor, *, focus: float = FOCUS, margin: float = MARGIN
) -> Tensor:
    """Return the asymmetric loss (Ridnik et al., ICCV 2021), averaged over the batch.

    With p = sigmoid(logit) and q = max(p − m, 0), a label that an image has costs −log p, and one
    that it has not −q^γ log(1 − q). So the many easy absences count little. ``focus=0`` and
    ``margin=0`` make it the binary cross-entropy, summed over classes.

    Parameters
    ----------
    logits
        (B, n).
    labels
        (B, n) which labels each image has, 0 and 1; shares between them where images are mixed.
    focus
        γ of labels that an image has not.
    margin
        m: below this probability an absent label costs nothing.

    Examples
    --------
    >>> import torch
    >>> asymmetric_loss(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]]), focus=0, margin=0)
    tensor(1.3863)
    """
    absent = (logits.sigmoid() - margin).clamp(min=0.0)
    cost = -(1 - absent).clamp(min=1e-8).log() * absent**focus
    each = labels * functional.softplus(-logits) + (1 - labels) * cost
    return each.sum(dim=1).mean()


def label_set_loss(
    outputs: HeadOutputs,
    class_labels: Tensor,
    layer_labels: Tensor,
    weights: float | Sequence[float] = 0.3,
    *,
    class_weight: float = 1.0,
    label_smoothing: float = 0.0,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return `hierarchy_loss` of images with several labels: asymmetric losses in its place.

    Parameters
    ----------
    outputs
        What a head gave for B images.
    class_labels
        Which of the seen classes each image has, (B, p).
    layer_labels
        Which superclasses it has, of all layers side by side, (B, Σ r_l): those of its classes.
    weights
        λ_l, one number for all layers or one each.
    class_weight
        Of the classes' own loss.
    label_smoothing
        0: labels are not shared out here.

    Returns
    -------
    total : Tensor
        The loss, with its gradient.
    parts : dict
        As of `hierarchy_loss`.
    """
    if label_smoothing:
        raise InvalidInput("label_smoothing is for one label an image: set it to 0")
    lambdas = layer_weights(weights, len(outputs.layers))
    part = asymmetric_loss(outputs.classes, class_labels)
    parts, total = {"classes": part.detach()}, class_weight * part
    sizes = [logits.shape[1] for logits in outputs.layers]
    of_layers = torch.split(layer_labels, sizes, dim=1) if sizes else ()
    for suffix, logits_of_layers in (("", outputs.layers), (" linear", outputs.auxiliary)):
        for number, logits in enumerate(logits_of_layers, start=1):
            part = asymmetric_loss(logits, of_layers[number - 1])
            parts[f"layer {number}{suffix}"] = part.detach()
            total = total + lambdas[number - 1] * part
    return total, parts
