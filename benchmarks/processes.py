"""What two processes on two cores take, as a share of what one process on one core takes.

    python benchmarks/processes.py --samples 20000 --repetitions 3

draws the features of ``benchmarks/scale.py``, and has one process and then two, by `torchrun`, each
on a core of its own, sum FᵀF and find the graph's neighbors. They take turns. For every count the
seconds are told between the moments at which all processes begin and end, and the ratio of the best
ones: at most 0.6 is the target. Beside them stand processor seconds, for machines that are not
quiet: half of those that both processes take, over those of one, is the ratio of a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scale import Generator, drawn_labels, seen_classes

from zerokin.compute.processes import joined
from zerokin.data import ShardedFeatures, write_shards
from zerokin.projection import neighbor_graph
from zerokin.projection.arrays import NumpyArrays
from zerokin.projection.spectrum import gram_matrix

STAGES = ("gram", "graph")


def measure(folder: Path) -> None:
    """Time FᵀF and the graph; meant for processes of torchrun, each on one core."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[int(os.environ["LOCAL_RANK"]) % len(cores)]})
    with joined() as processes:
        whole = ShardedFeatures(folder)
        F = np.asarray(whole.rows(processes.share(len(whole))))
        work: dict[str, Callable[[], Any]] = {
            "gram": lambda: gram_matrix(NumpyArrays(), F, processes),
            "graph": lambda: neighbor_graph(F, 10),
        }
        neighbor_graph(F[:64], 2)  # whatever is loaded at first
        told: dict[str, float] = {"processes": processes.size}
        for name in STAGES:
            processes.wait()
            wall, cpu = time.perf_counter(), time.process_time()
            work[name]()
            mine = time.process_time() - cpu
            processes.wait()
            told[name] = time.perf_counter() - wall
            told[f"{name} cpu"] = float(processes.sum(np.array([mine]))[0])
        if processes.leads:
            print(json.dumps(told))


def run(count: int, folder: Path) -> dict[str, float]:
    """Measure with so many processes."""
    launch = ["-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1"]
    command = [sys.executable, *launch, f"--nproc_per_node={count}", __file__]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    answer = subprocess.run(
        [*command, "--measure", str(folder)],
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    found: dict[str, float] = json.loads(answer.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure)
        return
    best: dict[tuple[int, str], float] = {}
    with tempfile.TemporaryDirectory() as folder:
        shards = Path(folder, "shards")
        labels = seen_classes()[drawn_labels(arguments.samples)]
        write_shards(shards, Generator().blocks(labels, seed=0))
        for _ in range(arguments.repetitions):
            for count in (1, 2):
                found = run(count, shards)
                print(json.dumps(found), flush=True)
                found["together"] = found["gram"] + found["graph"]
                found["together cpu"] = found["gram cpu"] + found["graph cpu"]
                for name, seconds in found.items():
                    best[count, name] = min(seconds, best.get((count, name), seconds))
    for name in (*STAGES, "together"):
        wall = best[2, name] / best[1, name]
        quiet = best[2, f"{name} cpu"] / 2 / best[1, f"{name} cpu"]
        print(f"{name}: ratio {wall:.2f}; of processor seconds {quiet:.2f}", flush=True)


if __name__ == "__main__":
    main()
