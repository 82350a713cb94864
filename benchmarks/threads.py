"""Is choosing as fast as printed? Default threads and --jobs against the best fixed threads.

    python benchmarks/threads.py xlsa17=DIR --methods ridge-s2f,ours --repetitions 3

runs `zerokin compare` with default threads and with each fixed number of them, in turn, alone and
beside processes that keep half of the cores busy. Ratios of the best times are told: at most 1.15
is the target. Processor seconds stand beside, for machines that are not quiet.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from zerokin.compute.machine import own_cores
from zerokin.compute.threads import VARIABLES

SPIN = "while True: pass"


@contextmanager
def busy(n: int) -> Iterator[None]:
    """Keep so many cores busy meanwhile."""
    others = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(n)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def seconds(command: list[str], threads: int | None) -> tuple[float, float]:
    """Run a command; return its seconds, and those of the processor."""
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    if threads is not None:
        environment |= {name: str(threads) for name in VARIABLES}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    taken, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return taken, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--methods", default="ridge-s2f,ours")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    cores = own_cores()
    fixed = sorted({1, 2, max(1, cores // 2), cores} & set(range(1, cores + 1)))
    command = [sys.executable, "-m", "zerokin", "-q", "compare", arguments.data]
    command += ["--methods", arguments.methods]
    for others in (0, max(1, cores // 2)):
        for jobs in arguments.jobs:
            # Two jobs with a fixed setting take what they are given, however many cores there are.
            settings: list[int | None] = [None, *fixed]
            best: dict[int | None, tuple[float, float]] = {}
            for _ in range(arguments.repetitions):
                for threads in settings:
                    with busy(others):
                        found = seconds([*command, "--jobs", str(jobs)], threads)
                    best[threads] = min(found, best.get(threads, found))
            default = best.pop(None)
            fastest = min(best, key=lambda threads: best[threads])
            told = {
                "busy": others,
                "jobs": jobs,
                "seconds": round(default[0], 1),
                "processor_seconds": round(default[1], 1),
                "best_threads": fastest,
                "best_seconds": round(best[fastest][0], 1),
                "best_processor_seconds": round(best[fastest][1], 1),
                "ratio": round(default[0] / best[fastest][0], 2),
                "processor_ratio": round(default[1] / best[fastest][1], 2),
            }
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
