"""What the machine offers: cores and free memory."""

from __future__ import annotations

import os
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

UNKNOWN = 4 * 2**30

allotted: ContextVar[int | None] = ContextVar("allotted", default=None)
"""The cores for work that was given a share of them: see `zerokin.compute.threads`."""


def own_cores() -> int:
    """Count the cores this process may use; those that `torchrun` started share them evenly."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, cores // local_processes())


def available_cores() -> int:
    """Count the cores for threads that compute: ``OMP_NUM_THREADS`` lowers it, as it does for BLAS.

    Not under `torchrun`, which sets it to 1 for all it starts, however many cores there are.
    Work that was given a share of the cores has no more than that.
    """
    cores = own_cores()
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if local_processes() == 1 and asked.isdigit() and int(asked):
        cores = min(cores, int(asked))
    given = allotted.get()
    return cores if given is None else min(cores, given)


def local_processes() -> int:
    """Count the processes on this machine that `torchrun` started together, this one among them."""
    given = os.environ.get("LOCAL_WORLD_SIZE", "")
    return max(1, int(given)) if given.isdigit() else 1


def available_memory(device: torch.device) -> int:
    """Return the bytes that a device, or the CPU's machine, has free: see `free_memory`.

    Processes that `torchrun` started have a GPU each.
    """
    if device.type == "cuda":
        import torch

        return int(torch.cuda.mem_get_info(device)[0])
    return free_memory()


def free_memory() -> int:
    """Return the bytes that the machine has free for this process: 4 GiB where none can tell.

    Processes that `torchrun` started share them evenly.
    """
    free = _free_memory(Path("/proc/meminfo"))
    within = _free_in_container(Path("/sys/fs/cgroup"))
    known = [amount for amount in (free, within) if amount is not None]
    return min(known, default=UNKNOWN) // local_processes()


def _free_memory(meminfo: Path) -> int | None:
    try:
        for line in meminfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def _free_in_container(group: Path) -> int | None:
    """Return what a container's limit leaves; files that were read do not count as used."""
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        try:
            most = (group / limit).read_text(encoding="utf-8").strip()
            taken = (group / used).read_text(encoding="utf-8").strip()
            statistics = (
                (group / limit).with_name("memory.stat").read_text(encoding="utf-8").split()
            )
        except OSError:
            continue
        if most.isdigit() and taken.isdigit():
            counts = dict(zip(statistics[::2], statistics[1::2], strict=False))
            return max(0, int(most) - int(taken) + int(counts.get("inactive_file", 0)))
    return None
