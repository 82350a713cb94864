"""Batch normalization over the whole batch when several processes share it, on any device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode


class SyncBatchNorm(TorchFunctionMode):
    """While active, `torch.nn.functional.batch_norm` averages over all processes.

    torch's own `SyncBatchNorm` runs on GPUs only and takes the place of modules; this one leaves
    the network as it is, whatever its kind of normalization layer adds.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func is functional.batch_norm:
            return _batch_norm(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def _batch_norm(
    input: Tensor,  # noqa: A002
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    if not training:
        return functional.batch_norm(
            input, running_mean, running_var, weight, bias, False, momentum, eps
        )
    dims = [0, *range(2, input.ndim)]
    shape = [1, -1] + [1] * (input.ndim - 2)
    x = input.float()
    count = _summed(x.new_full((1,), x.numel() // x.shape[1]))
    mean = _summed(x.sum(dims)) / count
    centered = x - mean.view(shape)
    variance = _summed(centered.square().sum(dims)) / count
    with torch.no_grad():
        if running_mean is not None and running_var is not None:
            running_mean.lerp_(mean.to(running_mean), momentum)
            unbiased = variance * count / (count - 1).clamp_min(1)
            running_var.lerp_(unbiased.to(running_var), momentum)
    result = centered * (variance + eps).rsqrt().view(shape)
    if weight is not None:
        result = result * weight.float().view(shape)
    if bias is not None:
        result = result + bias.float().view(shape)
    return result.to(input.dtype)


class _Sum(torch.autograd.Function):
    """A sum over processes; every process's loss depends on it, so gradients are summed, too."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:  # noqa: ARG004
        total = values.clone(memory_format=torch.contiguous_format)
        torch.distributed.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:  # noqa: ARG004
        total = gradients[0].clone(memory_format=torch.contiguous_format)
        torch.distributed.all_reduce(total)
        return total


def _summed(values: Tensor) -> Tensor:
    total: Tensor = _Sum.apply(values)
    return total
