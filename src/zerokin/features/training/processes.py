"""One process or many, CPU or GPU: what Accelerate is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from zerokin.errors import InvalidInput
from zerokin.features.training.recipe import Precision

if TYPE_CHECKING:
    from accelerate import Accelerator


def make_accelerator(precision: Precision = "auto", device: str | None = None) -> Accelerator:
    """Return an accelerator for this process, which `torchrun` may have started among others.

    Parameters
    ----------
    precision
        As in `Recipe`.
    device
        ``"cpu"`` or ``"cuda"``; by default a GPU if there is one.
    """
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState

    if device is not None and device.startswith("cuda") and not torch.cuda.is_available():
        raise InvalidInput(f"device={device!r}, but torch sees no GPU here: use device='cpu'")
    on_cpu = device == "cpu" or not torch.cuda.is_available()
    if precision == "auto":
        fast = not on_cpu and torch.cuda.is_bf16_supported()
        precision = "bfloat16" if fast else "float32"
    # One process may train several networks, each with a precision of its own.
    AcceleratorState._reset_state(reset_partial_state=False)
    return Accelerator(mixed_precision="bf16" if precision == "bfloat16" else "no", cpu=on_cpu)
