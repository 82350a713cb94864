"""Features that are read a block of rows at a time: some rows of others, or others once scaled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 4096


class RowSource:
    """A matrix (N, d_f) of which only blocks of rows are in memory: by slice or by index."""

    source: Any
    shape: tuple[int, int]
    dtype: np.dtype[Any]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        raise NotImplementedError


class PickedRows(RowSource):
    """Some rows of a matrix, read when they are asked for.

    Parameters
    ----------
    source
        A matrix (N, d_f) of which rows are taken by index.
    index : array (n,) of int
        Which rows.
    """

    def __init__(self, source: Any, index: NDArray[np.int64]) -> None:
        self.source, self.index = source, index
        self.shape = (len(index), int(source.shape[1]))
        self.dtype = np.dtype(source[:0].dtype)

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        return np.asarray(self.source[self.index[rows]])


class MappedRows(RowSource):
    """Rows of a matrix once each has been mapped, read and mapped when they are asked for."""

    def __init__(self, source: Any, maps: Sequence[Callable[[Any], Any]]) -> None:
        self.source, self.maps = source, tuple(maps)
        self.shape, self.dtype = source.shape, np.dtype(source.dtype)

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        found: NDArray[Any] = self.source[rows]
        for one in self.maps:
            found = one(found)
        return found


def blocks_of(F: Any) -> Iterator[slice]:
    """Cut the rows of features into those that are read together: an array in memory is one."""
    if type(F) is np.ndarray:
        yield slice(0, len(F))
        return
    for start in range(0, len(F), BLOCK):
        yield slice(start, min(start + BLOCK, len(F)))


def some_rows(F: Any, index: NDArray[np.int64]) -> Any:
    """Return some rows of features: an array of an array, and others to be read by blocks."""
    return F[index] if isinstance(F, np.ndarray) else PickedRows(F, index)
