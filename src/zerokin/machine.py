"""What the machine offers: cores and free memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

UNKNOWN = 4 * 2**30


def available_cores() -> int:
    """Count the cores this process may use; ``OMP_NUM_THREADS`` lowers it, as it does for BLAS."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores, int(asked)) if asked.isdigit() and int(asked) > 0 else cores


def available_memory(device: torch.device) -> int:
    """Return the bytes that a device, or the CPU's machine, has free: 4 GiB where none can tell."""
    if device.type == "cuda":
        import torch

        return int(torch.cuda.mem_get_info(device)[0])
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return UNKNOWN
