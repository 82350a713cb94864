"""Processes that work beside the one that started them, and that end with it.

Nothing large is imported here: until it is, a process would not yet know when to end.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from threading import Thread

from zerokin.compute.machine import available_cores
from zerokin.compute.threads import limit_process, share_of_cores


def make_workers(n: int) -> ProcessPoolExecutor:
    """Return so many processes, one for each core at most, which share the cores evenly.

    They end with this one, even where it is killed.
    """
    n = max(1, min(n, available_cores()))
    spawn = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(
        n, mp_context=spawn, initializer=_start_worker, initargs=(share_of_cores(n),)
    )


def _start_worker(threads: int) -> None:
    _end_with_parent()
    limit_process(threads)


def _end_with_parent() -> None:
    # Ctrl-C reaches every process: the one that started them says so, they need not.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    # They hold both ends of the queue they listen to, and would never notice that it is closed.
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
