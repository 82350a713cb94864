"""Threads: workers side by side and the threads inside each never ask for more than the cores.

BLAS and PyTorch take a thread for every core, each. Two processes that do so on two cores, or one
beside other work, mostly wait for each other. So whatever runs side by side does it on its share
of the cores (`limit_process`), and work of many small products on few of them (`few_threads`).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from zerokin.compute.machine import allotted, available_cores

MOST_USEFUL = 4
"""Threads of a search at most. About a quarter of its work is on one thread, so that four threads
take 0.44 of one thread's time, and no number of them less than a quarter."""

SAMPLE_SECONDS = 0.05
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def share_of_cores(workers: int) -> int:
    """Return the threads of each of so many workers side by side: at least one.

    Examples
    --------
    >>> share_of_cores(10**6)
    1
    """
    return max(1, available_cores() // workers)


def limit_process(n: int) -> None:
    """Have this process compute on so many threads from now on, whatever it loads later."""
    for name in VARIABLES:
        os.environ[name] = str(n)
    from threadpoolctl import threadpool_limits

    threadpool_limits(n)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(n)


@contextmanager
def limited_threads(n: int) -> Iterator[None]:
    """Compute on no more than so many threads of BLAS, OpenMP and PyTorch, and see as many cores.

    What has fewer threads keeps them. Libraries that are loaded meanwhile have no more either.
    """
    from threadpoolctl import threadpool_info, threadpool_limits

    loaded = sys.modules.get("torch")
    usual = loaded.get_num_threads() if loaded else available_cores()
    pools: dict[str, int] = {}
    for pool in threadpool_info():
        pools[pool["prefix"]] = min(n, pool["num_threads"], pools.get(pool["prefix"], n))
    before = {name: os.environ.get(name) for name in VARIABLES}
    token = allotted.set(n)
    os.environ.update({name: str(n) for name in VARIABLES})
    try:
        with threadpool_limits(limits=pools):
            if loaded:
                loaded.set_num_threads(min(n, usual))
            yield
    finally:
        allotted.reset(token)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(usual)


def useful_threads() -> int:
    """Return how many threads many small products are worth, of the cores that are idle."""
    n = min(available_cores(), MOST_USEFUL)
    return max(1, min(n, idle_cores())) if n > 1 else 1


@contextmanager
def few_threads() -> Iterator[None]:
    """Compute on `useful_threads`."""
    with limited_threads(useful_threads()):
        yield


def blas_on_one_thread() -> None:
    """Have NumPy compute on the thread that asks, from now on: where answers are small products.

    Other threads would be woken, and wait, for a tenth of a millisecond's work.
    """
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, user_api="blas")


def idle_cores() -> int:
    """Count the cores of this process that nobody uses right now; all where none can tell."""
    before = _jiffies()
    time.sleep(SAMPLE_SECONDS)
    after = _jiffies()
    shares = [
        (idle - after_idle) / (total - after_total)
        for (idle, total), (after_idle, after_total) in zip(before, after, strict=False)
        if total != after_total
    ]
    return round(sum(shares)) if shares else available_cores()


def _jiffies() -> list[tuple[int, int]]:
    """Return idle and total time of each core that this process may use, or nothing."""
    affinity = getattr(os, "sched_getaffinity", None)
    own = affinity(0) if affinity else set()
    try:
        lines = Path("/proc/stat").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        name, *values = line.split()
        if name[:3] == "cpu" and name[3:].isdigit() and int(name[3:]) in own:
            times = [int(value) for value in values[:8]]
            found.append((sum(times[3:5]), sum(times)))
    return found
