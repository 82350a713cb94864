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
    from accelerate.state import AcceleratorState, PartialState

    if device not in (None, "cpu", "cuda"):
        raise InvalidInput(
            f"device must be 'cpu' or 'cuda', which of the GPUs is up to CUDA_VISIBLE_DEVICES: "
            f"got {device!r}"
        )
    if device == "cuda" and not torch.cuda.is_available():
        raise InvalidInput(f"device={device!r}, but torch sees no GPU here: use device='cpu'")
    on_cpu = device == "cpu" or not torch.cuda.is_available()
    if precision == "auto":
        fast = not on_cpu and torch.cuda.is_bf16_supported()
        precision = "bfloat16" if fast else "float32"
    # One process may train several networks, each with a precision and a device of its own.
    AcceleratorState._reset_state(reset_partial_state=False)
    if PartialState._shared_state and (PartialState().device.type == "cpu") != on_cpu:
        PartialState._reset_state()
    return Accelerator(mixed_precision="bf16" if precision == "bfloat16" else "no", cpu=on_cpu)


def leading(accelerator: Accelerator, value: float) -> float:
    """Return the leading process's value in all processes."""
    if accelerator.num_processes == 1:
        return value
    from accelerate.utils import broadcast

    shared = torch.tensor([value], dtype=torch.float64, device=accelerator.device)
    return float(broadcast(shared).item())


def leads() -> bool:
    """Tell whether this process, among those that `torchrun` started, is the one that writes."""
    from accelerate import PartialState

    return bool(PartialState().is_main_process)
