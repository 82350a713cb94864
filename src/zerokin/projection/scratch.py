"""Arrays with a row per sample that do not fit in memory: in an unnamed file, column by column."""

from __future__ import annotations

import errno
import os
import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput
from zerokin.projection.arrays import row_blocks
from zerokin.projection.rows import release_pages


def scratch_array(
    shape: tuple[int, int], dtype: str, what: str = "the semantics of {:,} samples"
) -> NDArray[Any]:
    """Make an array (N, r) in an unnamed file of the folder for temporary files (``TMPDIR``).

    Its space is taken at once, so that a full disk is found out here and not in the middle. The
    file goes with the array, however the process ends.

    Parameters
    ----------
    shape
        (N, r): the columns lie one after another.
    dtype
        Of its numbers.
    what
        What needs the space, for the message where there is none.
    """
    rows, columns = shape
    size = rows * columns * np.dtype(dtype).itemsize
    folder = tempfile.gettempdir()
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            _take_space(file.fileno(), size)
            mapped: Any = np.memmap(file, dtype, "r+", shape=(columns, rows))
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        reason = "no space left" if full else error.strerror or str(error)
        raise InvalidInput(
            f"{what.format(rows)} need {size / 2**30:.1f} GiB in {folder} "
            f"({reason}): raise memory_budget, or set TMPDIR to a folder with more space"
        ) from error
    columns_first: NDArray[Any] = mapped.T
    return columns_first


def scratch_copy(F: Any) -> NDArray[Any]:
    """Copy features (N, d_f) that are read by blocks into an unnamed file, row after row."""
    what = f"the scaled features of {len(F):,} samples"
    copied: NDArray[Any] = scratch_array((F.shape[1], len(F)), F.dtype.name, what).T
    for rows in row_blocks(len(F)):
        copied[rows] = F[rows]
        release_pages(copied)
    return copied


def _take_space(file: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
        return
    zeros = bytes(2**20)
    for start in range(0, size, len(zeros)):
        os.write(file, zeros[: size - start])
