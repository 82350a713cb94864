"""The losses that feature networks learn from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn import functional

from zerokin.errors import InvalidInput
from zerokin.features.networks.head_outputs import HeadOutputs


def hierarchy_loss(
    outputs: HeadOutputs,
    class_labels: Tensor,
    layer_labels: Tensor,
    weights: float | Sequence[float] = 0.3,
    *,
    class_weight: float = 1.0,
    label_smoothing: float = 0.0,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the paper's loss: cross-entropy of the classes plus Σ λ_l that of superclass layer l.

    Auxiliary logits, if a head gives them, add λ_l times their own cross-entropy.

    Parameters
    ----------
    outputs
        What a head gave for B images.
    class_labels
        Seen class of each image, (B,): 0 … p − 1.
    layer_labels
        Superclass of each image in each layer, (B, n_r).
    weights
        λ_l, one number for all layers or one each.
    class_weight
        Of the classes' own cross-entropy; less than 1 leaves room for what a teacher says of them.
    label_smoothing
        ε: every label is right to 1 − ε, and all of its layer's share the rest (Szegedy et al.
        2016).

    Returns
    -------
    total : Tensor
        The loss, averaged over the batch, with its gradient.
    parts : dict
        The cross-entropies by name, neither weighted nor with a gradient: ``"classes"``,
        ``"layer 1"``, … and ``"layer 1 linear"``, … for the auxiliary ones.

    Examples
    --------
    >>> import torch
    >>> outputs = HeadOutputs(classes=torch.zeros(1, 4), layers=(torch.zeros(1, 2),))
    >>> total, parts = hierarchy_loss(outputs, torch.tensor([3]), torch.tensor([[0]]), 0.5)
    >>> {name: round(part.item(), 3) for name, part in parts.items()}
    {'classes': 1.386, 'layer 1': 0.693}
    >>> round(total.item(), 3)
    1.733
    """
    lambdas = layer_weights(weights, len(outputs.layers))
    _check_labels(outputs, class_labels, layer_labels)
    if outputs.joint is not None:
        sizes = (outputs.classes.shape[1], *(logits.shape[1] for logits in outputs.layers))
        labels = torch.cat([class_labels[:, None], layer_labels], dim=1)
        each = joint_cross_entropy(outputs.joint, sizes, labels, label_smoothing=label_smoothing)
        total = each @ _on_device((class_weight, *lambdas), each.dtype, each.device)
        names = ("classes", *(f"layer {number}" for number in range(1, len(sizes))))
        return total, dict(zip(names, each.detach().unbind(), strict=True))
    part = functional.cross_entropy(outputs.classes, class_labels, label_smoothing=label_smoothing)
    parts = {"classes": part.detach()}
    total = part if class_weight == 1 else class_weight * part
    # Each column in one piece: the losses would copy it, one by one, forth and back.
    columns = layer_labels.T.contiguous() if outputs.layers else ()
    for suffix, logits_of_layers in (("", outputs.layers), (" linear", outputs.auxiliary)):
        for number, logits in enumerate(logits_of_layers, start=1):
            part = functional.cross_entropy(
                logits, columns[number - 1], label_smoothing=label_smoothing
            )
            parts[f"layer {number}{suffix}"] = part.detach()
            total = total + lambdas[number - 1] * part
    return total, parts


def joint_cross_entropy(
    joint: Tensor, sizes: tuple[int, ...], labels: Tensor, *, label_smoothing: float = 0.0
) -> Tensor:
    """Return the cross-entropy of every layer, averaged over the batch, (n_layers,).

    The same as `torch.nn.functional.cross_entropy` of each, in a number of kernels that does not
    grow with the layers: their logits are padded to one width, and the padding has probability 0.

    Parameters
    ----------
    joint
        Logits of all layers side by side, (B, Σ sizes).
    sizes
        Width of every layer.
    labels
        What is right in each, (B, n_layers).
    label_smoothing
        ε of `hierarchy_loss`.

    Examples
    --------
    >>> logits = torch.tensor([[0.0, 0.0, 3.0, 3.0, 3.0]])
    >>> joint_cross_entropy(logits, (2, 3), torch.tensor([[1, 2]]))  # ln 2 and ln 3
    tensor([0.6931, 1.0986])
    """
    columns = _padded_columns(sizes, joint.device)
    padded = functional.pad(joint, (0, 1), value=-torch.inf).index_select(1, columns)
    logs = padded.view(len(joint), len(sizes), -1).log_softmax(dim=2)
    losses = -logs.gather(2, labels[:, :, None])[:, :, 0].mean(0)
    if not label_smoothing:
        return losses
    widths = _on_device(tuple(map(float, sizes)), joint.dtype, joint.device)
    even = -logs.masked_fill(logs.isneginf(), 0.0).sum(2).mean(0) / widths
    return torch.lerp(losses, even, label_smoothing)


@lru_cache(maxsize=32)
def _padded_columns(sizes: tuple[int, ...], device: torch.device) -> Tensor:
    """Return the column of each layer's entries, padded with the one after all, (n_layers · r,)."""
    # Not tensors of inference mode, should somebody be in it: no loss could be made with those.
    with torch.inference_mode(False):
        starts = torch.tensor((0, *sizes)).cumsum(0)
        places = torch.arange(max(sizes))
        inside = places < torch.tensor(sizes)[:, None]
        columns = torch.where(inside, starts[:-1, None] + places, starts[-1])
        return columns.flatten().to(device)


@lru_cache(maxsize=64)
def _on_device(values: tuple[float, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    with torch.inference_mode(False):
        return torch.tensor(values, dtype=dtype, device=device)


def semantic_loss(
    outputs: HeadOutputs,
    class_labels: Tensor,
    layer_labels: Tensor,
    weights: float | Sequence[float] = 0.3,
    *,
    mu: float = 0.0,
    class_weight: float = 1.0,
    label_smoothing: float = 0.0,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return `hierarchy_loss` plus μ times the mean reconstruction error of each layer.

    The error of layer 0 counts once and that of superclass layer l λ_l times, as their
    cross-entropies do.

    Parameters
    ----------
    outputs, class_labels, layer_labels, weights, class_weight, label_smoothing
        As for `hierarchy_loss`.
    mu
        Weight of self-reconstruction. A head that reconstructs nothing takes only 0.

    Returns
    -------
    total : Tensor
        The loss, with its gradient.
    parts : dict
        As of `hierarchy_loss`, and ``"reconstruction 0"``, ``"reconstruction 1"``, … by layer.
    """
    if not mu >= 0:
        raise InvalidInput(f"mu must be 0 or more: got {mu}")
    if mu > 0 and not outputs.reconstruction:
        raise InvalidInput(f"mu={mu} needs a head made with reconstruction=True")
    total, parts = hierarchy_loss(
        outputs,
        class_labels,
        layer_labels,
        weights,
        class_weight=class_weight,
        label_smoothing=label_smoothing,
    )
    lambdas = [1.0, *layer_weights(weights, len(outputs.layers))]
    for number, errors in enumerate(outputs.reconstruction):
        error = errors.mean()
        parts[f"reconstruction {number}"] = error.detach()
        total = total + mu * lambdas[number] * error
    return total, parts


def layer_weights(weights: float | Sequence[float], n_layers: int) -> list[float]:
    """Return λ_l of every superclass layer, one number for all or one each."""
    lambdas = [float(weights)] * n_layers if isinstance(weights, int | float) else list(weights)
    if len(lambdas) != n_layers:
        raise InvalidInput(
            f"weights must be one number or one for each of the {n_layers} superclass layers: "
            f"got {len(lambdas)}"
        )
    if not all(weight >= 0 for weight in lambdas):
        raise InvalidInput(f"weights of superclass layers must be 0 or more: got {lambdas}")
    return lambdas


def _check_labels(outputs: HeadOutputs, class_labels: Tensor, layer_labels: Tensor) -> None:
    batch, n_layers = len(outputs.classes), len(outputs.layers)
    if class_labels.shape != (batch,):
        raise InvalidInput(f"class_labels must be ({batch},): got {tuple(class_labels.shape)}")
    if n_layers and layer_labels.shape != (batch, n_layers):
        raise InvalidInput(
            f"layer_labels must be a column per superclass layer, ({batch}, {n_layers}): "
            f"got {tuple(layer_labels.shape)}"
        )
