"""Products of float32 matrices by the quickest kernels that torch has for this processor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quick_products() -> Iterator[None]:
    """Multiply float32 matrices of torch by oneDNN in the place of MKL.

    MKL's kernels are half as fast on processors that Intel did not make. Precision is that of
    float32, but where a processor multiplies bfloat16 matrices in hardware (AMX), factors may be
    rounded to that: for descents on batches, whose gradients are far noisier.

    Examples
    --------
    >>> import torch
    >>> with quick_products():
    ...     (torch.eye(2) @ torch.ones(2, 1)).T
    tensor([[1., 1.]])
    """
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
