"""Features that are read a block of rows at a time: mapped files, shards, other number types."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput
from zerokin.features.row_sources import RowSource
from zerokin.matrices import finite_matrix, plain_array, refuse_too_large
from zerokin.projection.arrays import DTYPES, row_blocks

BLOCK = 4096


class FeatureRows(RowSource):
    """A matrix (N, d_f) in a file or of another number type, of which only blocks are in memory.

    Rows that are taken come as a copy in float32 or float64, and the pages of a mapped file that
    they came from are given back to the system, so that they do not add up.

    Parameters
    ----------
    source
        A memory-mapped array, or anything with ``shape``, ``dtype`` and rows by slice and by index.
    dtype
        ``"float32"`` or ``"float64"``; as the source's by default, float32 for half precision.
    """

    def __init__(self, source: Any, dtype: str | None = None) -> None:
        self.source = source
        given = np.dtype(source.dtype)
        if len(source.shape) != 2 or 0 in source.shape or given.kind not in "fiu":
            raise InvalidInput(
                f"F must be a matrix of numbers with at least one row and column: got {given} of "
                f"shape {tuple(source.shape)}"
            )
        single = given.kind == "f" and given.itemsize <= 4
        self.dtype = np.dtype(dtype or DTYPES[0 if single else 1])
        self.shape: tuple[int, int] = (int(source.shape[0]), int(source.shape[1]))
        self._mapped = mapped_files(source)

    def __getitem__(self, rows: slice | NDArray[Any]) -> NDArray[Any]:
        taken: NDArray[Any] = np.array(self.source[rows], dtype=self.dtype, order="C")
        for mapped in self._mapped:
            forget_pages(mapped)
        return taken

    def check(self, name: str = "F") -> FeatureRows:
        """Refuse numbers that are not finite, or too large to be squared; read every row once."""
        for rows in row_blocks(len(self), BLOCK):
            try:
                finite_matrix(self[rows], name)
            except InvalidInput as error:
                raise InvalidInput(f"{error} (rows from {rows.start:,} on)") from error
        return self


def in_blocks(F: Any) -> bool:
    """Tell whether features are better read a block at a time than taken as an array."""
    return isinstance(F, np.memmap | RowSource) or hasattr(F, "shards")


def held_features(F: Any, name: str, dtype: str | None) -> tuple[Any, str]:
    """Check features given with a memory budget, and return them with the type to compute in.

    What lies in files stays there. An array in memory stays as it is, and blocks of it are
    converted where its type is another.
    """
    if isinstance(F, FeatureRows):
        return F, F.dtype.name
    if not in_blocks(F):
        array = plain_array(F, name)
        if array.dtype.kind != "f" or array.dtype.itemsize not in (2, 4, 8):
            array = finite_matrix(array, name)
        rows = FeatureRows(array, dtype)
        if rows.dtype == array.dtype:
            return refuse_too_large(finite_matrix(array, name), name), rows.dtype.name
        return rows.check(name), rows.dtype.name
    rows = FeatureRows(F, dtype).check(name)
    return rows, rows.dtype.name


def bytes_in_memory(F: Any) -> int:
    """Return what features hold in memory already, files not counted."""
    source = F
    while isinstance(source, RowSource):
        source = source.source
    return 0 if in_blocks(source) else int(source.nbytes)


def mapped_files(array: Any) -> list[mmap.mmap]:
    """Return the mappings below an array, or below every shard of it, whose pages can go."""
    found = []
    while isinstance(array, RowSource):
        array = array.source
    for part in getattr(array, "shards", None) or [array]:
        below, private = part, False
        while below is not None and not isinstance(below, mmap.mmap):
            # What was changed in a copy-on-write mapping is nowhere but in its pages.
            private |= getattr(below, "mode", None) == "c"
            below = getattr(below, "_mmap", None) or getattr(below, "base", None)
        if below is not None and not private:
            found.append(below)
    return found


def release_pages(array: Any) -> None:
    """Give back the pages of the file that an array lies in."""
    for mapped in mapped_files(array):
        forget_pages(mapped)


def forget_pages(mapped: mmap.mmap) -> None:
    """Give the pages of a mapped file back; what was written to them goes to the file."""
    if hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)
