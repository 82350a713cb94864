"""Several processes on one machine find what one finds; where one is killed, all end and say so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import shared_fits
from zerokin.compute.processes import ALONE
from zerokin.data import write_shards

HERE = Path(__file__).parent
SEEDS = 2
SECONDS = 240


def environment():
    paths = [str(HERE), str(HERE.parent / "src"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)}


def start_together(count, *command, said):
    """Start processes by torchrun, on this machine alone."""
    launch = ["-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1"]
    with said.open("w") as file:
        return subprocess.Popen(
            [sys.executable, *launch, f"--nproc_per_node={count}", *map(str, command)],
            env=environment(),
            stdout=file,
            stderr=subprocess.STDOUT,
        )


def end_of(started, *, seconds=SECONDS):
    try:
        return started.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        started.terminate()  # torchrun ends what it started: a process that waits, waits for ever
        started.wait(timeout=60)
        raise


def run_together(count, *command, said):
    ended = end_of(start_together(count, *command, said=said))
    return ended, said.read_text()


@pytest.fixture(scope="module", params=[2, 4])
def shared(request, tmp_path_factory):
    root = tmp_path_factory.mktemp(f"shared{request.param}")
    for seed in range(SEEDS):
        F, *_ = shared_fits.drawn("shards, a budget", seed)
        write_shards(root / f"shards-{seed}", [F], rows=67, dtype="float64")
    script = (HERE / "shared_fits.py", root, SEEDS)
    ended, said = run_together(request.param, *script, said=root / "said.txt")
    assert ended == 0, said[-3000:]
    return root, request.param


@pytest.mark.parametrize("name", shared_fits.SCENARIOS)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_several_processes_find_what_one_finds(shared, name, seed):
    root, count = shared
    there = np.load(root / f"{name}-{seed}-{count}.npz")
    alone = shared_fits.project(ALONE, name, seed, root)
    single = name == "single precision"
    np.testing.assert_array_equal(there["predicted"], alone["predicted"])
    np.testing.assert_allclose(there["graph"], alone["graph"], atol=1e-11)
    for what in ("W", "E"):
        np.testing.assert_allclose(there[what], alone[what], atol=5e-4 if single else 1e-8)
    np.testing.assert_allclose(
        there["objective"], alone["objective"], rtol=1e-4 if single else 1e-9
    )
    assert there["total"] == pytest.approx(alone["total"], rel=1e-12)
