"""The processes of an ablation that measure rows: what they finish is kept, and they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from zerokin.benchmark.ablation.config import AblationConfig, RowPlan
from zerokin.benchmark.ablation.result_cache import MeasuredRows
from zerokin.benchmark.ablation.run import _results

SECONDS = 60

PARENT = """
import os, signal
from zerokin.compute.workers import make_workers
if __name__ == "__main__":
    pool = make_workers(2)
    handler = pool.submit(signal.getsignal, signal.SIGINT).result()
    assert handler == signal.SIG_DFL, "Ctrl-C, which reaches all, would end in tracebacks"
    os.kill(os.getpid(), signal.SIGKILL)
"""


def measure(row, files):
    return [{"method": row.name}]


def wait_until(happens):
    end = time.monotonic() + SECONDS
    while not happens() and time.monotonic() < end:
        time.sleep(0.05)
    return happens()


def test_a_row_is_kept_while_the_next_network_is_trained(tmp_path):
    row = RowPlan("first", ("a",))
    (tmp_path / "a-fold-1.json").write_text("{}")
    files = [{("fold", 1): tmp_path / "a-fold-1.npy"}]
    measured = MeasuredRows(tmp_path, AblationConfig((), (row,)))
    kept = []

    def tasks():
        yield row, files
        wait_until(lambda: measured.find(row, files) is not None)
        kept.append(measured.find(row, files))
        raise KeyboardInterrupt  # in the midst of a training

    with pytest.raises(KeyboardInterrupt):
        list(_results(tasks(), measure, measured, 2))
    assert kept == [[{"method": "first"}]]


def test_processes_end_with_the_one_that_started_them_and_say_nothing(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    parent = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        said, _ = parent.communicate(timeout=SECONDS)  # until the last of them has let go of it
    finally:
        with suppress(ProcessLookupError):
            os.killpg(parent.pid, signal.SIGKILL)
    assert b"Traceback" not in said
    assert parent.returncode == -signal.SIGKILL
