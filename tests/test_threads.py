"""Threads: workers and the threads inside them never ask for more than the cores."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from zerokin.compute import machine, threads
from zerokin.compute.machine import available_cores
from zerokin.compute.threads import few_threads, idle_cores, limited_threads, share_of_cores
from zerokin.compute.workers import make_workers
from zerokin.progress import counting


def measured_threads(_number=0):
    """Return the threads of every pool in this process, and the cores it sees."""
    import scipy.linalg  # noqa: F401  a BLAS of its own
    import torch

    np.ones((3, 3)) @ np.ones((3, 3))
    pools = {pool["num_threads"] for pool in threadpool_info()}
    return pools, torch.get_num_threads(), available_cores()


@pytest.fixture
def five_cores(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(5)), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)


@pytest.mark.parametrize(("workers", "share"), [(1, 5), (2, 2), (3, 1), (17, 1)])
def test_workers_share_the_cores(five_cores, workers, share):
    assert share_of_cores(workers) == share


@pytest.mark.parametrize("jobs", [2, 3, 9])
def test_threads_inside_workers_are_their_share(five_cores, jobs):
    with make_workers(jobs) as pool:
        assert pool._max_workers == min(jobs, 5)
        pools, of_torch, _ = pool.submit(measured_threads).result()
    assert pools == {max(1, 5 // min(jobs, 5))}
    assert of_torch == max(1, 5 // min(jobs, 5))


def test_limits_hold_inside_and_end_with_it(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with threadpool_limits(3):
        torch.set_num_threads(3)
        before = measured_threads()
        with limited_threads(2):
            assert {pool["num_threads"] for pool in threadpool_info()} == {2}
            assert torch.get_num_threads() == 2
            assert available_cores() <= 2
            assert os.environ["OMP_NUM_THREADS"] == "2"
            with limited_threads(7):  # what has fewer keeps them
                assert {pool["num_threads"] for pool in threadpool_info()} == {2}
                assert torch.get_num_threads() == 2
        assert measured_threads() == before
    assert "OMP_NUM_THREADS" not in os.environ
    assert machine.allotted.get() is None


def test_what_is_loaded_meanwhile_is_limited_too(tmp_path):
    program = (
        "from zerokin.compute.threads import limited_threads\n"
        "import sys\n"
        "assert 'torch' not in sys.modules\n"
        "with limited_threads(1):\n"
        "    import torch\n"
        "    print(torch.get_num_threads())\n"
    )
    import subprocess

    env = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
    told = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True
    )
    assert told.stdout.split() == ["1"]


def test_a_search_takes_idle_cores_and_no_more_than_are_worth_it(five_cores, monkeypatch):
    taken = []
    monkeypatch.setattr(threads, "idle_cores", lambda: 5)
    for idle in (5, 3, 0):
        monkeypatch.setattr(threads, "idle_cores", lambda idle=idle: idle)
        with few_threads():
            taken.append(available_cores())
    assert taken == [threads.MOST_USEFUL, 3, 1]
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setattr(threads, "idle_cores", lambda: 5)
    with few_threads():
        assert available_cores() == 2


def test_idle_cores_are_those_that_nobody_uses(five_cores, monkeypatch):
    samples = iter([[(100, 200), (50, 200), (0, 90)], [(110, 210), (50, 210), (9, 100)]])
    monkeypatch.setattr(threads, "_jiffies", lambda: next(samples))
    assert idle_cores() == 2  # all of the first, none of the second, most of the third
    monkeypatch.setattr(threads, "_jiffies", list)
    assert idle_cores() == 5


def test_progress_of_all_stages_is_one_line_elsewhere_than_on_a_terminal(capsys):
    with counting("choosing settings", total=129) as advance:
        advance(45)
    assert capsys.readouterr().err == "choosing settings: 129\n"
    with counting("choosing settings", total=129, quiet=True) as advance:
        advance(129)
    assert capsys.readouterr().err == ""
