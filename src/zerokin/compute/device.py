"""Where a network works: the device that a user names, or a GPU if there is one."""

from __future__ import annotations

import torch
from torch import Tensor

from zerokin.errors import InvalidInput, shown


def chosen_device(device: str | None) -> str:
    """Return the device to use, refusing one that is unknown or not here.

    Examples
    --------
    >>> chosen_device("cpu")
    'cpu'
    >>> chosen_device("gpu")
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: unknown device 'gpu': use cpu or cuda
    """
    if device is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    if not isinstance(device, str) or device.partition(":")[0] not in ("cpu", "cuda", "mps"):
        raise InvalidInput(f"unknown device {shown(device)}: use cpu or cuda")
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise InvalidInput(f"device={device!r}, but torch sees no GPU here: use device='cpu'")
    return device


def to_device(values: Tensor, device: torch.device) -> Tensor:
    """Return values on a device, without waiting for what the device is at."""
    if device.type != "cuda" or values.is_cuda:
        return values.to(device)
    # Only from one piece of pinned memory does a copy take place by itself.
    return values.contiguous().pin_memory().to(device, non_blocking=True)
