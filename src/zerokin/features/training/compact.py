"""Momenta in eight bits each: checkpoints that are small enough to carry away."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

SCALE = ":scale"
LEVELS = 127
MOMENTA = ("momentum_buffer", "exp_avg")
"""What SGD and AdamW call the running mean of gradients."""


def compress(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Quantize momenta to int8, a scale for each row of the first dimension.

    The error is at most 1/254 of a row's largest value. Whatever is no momentum or has no rows
    stays as it is: AdamW divides by its second moments, small ones above all.

    Examples
    --------
    >>> found = compress({"0/momentum_buffer": torch.tensor([[1.0, -0.5], [0.0, 0.0]])})
    >>> found["0/momentum_buffer"].tolist()
    [[127, -64], [0, 0]]
    >>> expand(found)["0/momentum_buffer"][0, 0].item()
    1.0
    """
    found: dict[str, Tensor] = {}
    for name, value in tensors.items():
        if name.rpartition("/")[2] not in MOMENTA or value.ndim < 2:
            found[name] = value
            continue
        rows = value.detach().flatten(1)
        scale = rows.abs().amax(1, keepdim=True) / LEVELS
        quantized = (rows / scale.clamp_min(torch.finfo(rows.dtype).tiny)).round().to(torch.int8)
        found[name] = quantized.view(value.shape)
        found[name + SCALE] = scale[:, 0]
    return found


def expand(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors that `compress` was given, as near as it kept them."""
    found = {}
    for name, value in tensors.items():
        if name.endswith(SCALE):
            continue
        scale = tensors.get(name + SCALE)
        found[name] = value if scale is None else value * scale.view(-1, *[1] * (value.ndim - 1))
    return found
