"""Many images decoded at once, by all cores."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zerokin.compute.machine import own_cores
from zerokin.data.images import Images
from zerokin.data.resizing import ResizeMode, resize_to_square
from zerokin.progress import track
from zerokin.temporaries import scratch_folder

BLOCK = 128
WORTH_PROCESSES = 1000


def decode_squares(
    images: Images,
    side: int,
    *,
    resize_mode: ResizeMode = "whole",
    workers: int | None = None,
    quiet: bool = False,
) -> NDArray[np.uint8]:
    """Return all images as squares, (N, 3, side, side).

    Parameters
    ----------
    images
        The images.
    side, resize_mode
        As for `resize_to_square`.
    workers
        Threads, or processes where there are many images: much of decoding holds Python's lock,
        which threads share. By default one a core.
    quiet
        Show no progress.
    """
    workers = workers or own_cores()
    shape = (len(images), 3, side, side)
    if workers == 1 or len(images) < WORTH_PROCESSES:
        squares = np.empty(shape, np.uint8)
        _watch(_by_threads(images, squares, resize_mode, workers), len(squares), quiet)
        return squares
    with scratch_folder() as folder:
        path = folder / "squares.npy"
        shared = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=shape)
        _watch(_by_processes(images, path, resize_mode, workers), len(shared), quiet)
        return np.array(shared)


def _watch(blocks: Iterator[int], total: int, quiet: bool) -> None:
    """Show progress while blocks of images get done."""
    singles = (None for block in blocks for _ in range(block))
    for _ in track(singles, "decoding images", total=total, quiet=quiet):
        pass


def _by_threads(
    images: Images, squares: NDArray[np.uint8], resize_mode: ResizeMode, workers: int
) -> Iterator[int]:
    def fill(row: int) -> int:
        squares[row] = resize_to_square(images.load(row), squares.shape[-1], resize_mode)
        return 1

    pool = ThreadPoolExecutor(workers)
    try:
        yield from pool.map(fill, range(len(squares)))
    finally:
        pool.shutdown(cancel_futures=True)


def _by_processes(
    images: Images, path: Path, resize_mode: ResizeMode, workers: int
) -> Iterator[int]:
    from joblib import Parallel, delayed

    # Each process reads the list of images once: sent along with every block, the names of many
    # images would take longer than decoding them.
    listed = path.with_name("images")
    listed.write_bytes(pickle.dumps(images))
    starts = range(0, len(images), BLOCK)
    pool = Parallel(n_jobs=workers, return_as="generator_unordered", pre_dispatch="2*n_jobs")
    yield from pool(delayed(_fill_block)(listed, path, start, resize_mode) for start in starts)


@lru_cache(maxsize=1)
def _listed(path: Path) -> Images:
    # Written above a moment ago, not a user's.
    images: Images = pickle.loads(path.read_bytes())
    return images


def _fill_block(listed: Path, path: Path, start: int, resize_mode: ResizeMode) -> int:
    images = _listed(listed)
    squares = np.lib.format.open_memmap(path, mode="r+")
    rows = range(start, min(start + BLOCK, len(squares)))
    for row in rows:
        squares[row] = resize_to_square(images.load(row), squares.shape[-1], resize_mode)
    return len(rows)
