"""Which rows of a matrix lie in which process, and products with a graph that goes across them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from zerokin.compute.processes import ALONE, Processes, current
from zerokin.errors import InvalidInput


@dataclass(frozen=True)
class Shards:
    """Rows of a matrix, consecutive ones in each process.

    Parameters
    ----------
    processes
        Those that have the rows.
    starts
        First row of each process, and the number of rows in all: (size + 1,).
    """

    processes: Processes
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, rows: int) -> Shards:
        """Return how rows are spread, of which this process has so many."""
        processes = current()
        counts = processes.gather(np.array([rows], np.int64))
        if processes.shared and not counts.all():
            raise InvalidInput(
                f"process {counts.argmin()} of {processes.size} has no samples: {counts.sum():,} "
                "in all are too few to share, start fewer processes"
            )
        return cls(processes, np.append(0, np.cumsum(counts)))

    @classmethod
    def alone(cls, rows: int) -> Shards:
        """Return how rows are spread of which this process has all."""
        return cls(ALONE, np.array([0, rows]))

    @property
    def total(self) -> int:
        """Rows of all processes."""
        return int(self.starts[-1])

    @property
    def start(self) -> int:
        """First row of this process."""
        return int(self.starts[self.processes.rank])

    @property
    def largest(self) -> int:
        """Rows of the process that has most: by it all processes make the same plan."""
        return int(np.diff(self.starts).max())

    def most(self, number: int) -> int:
        """Return the largest of the numbers that the processes have."""
        return int(self.processes.gather(np.array([number], np.int64)).max())

    def split(self, ordered: NDArray[np.int64]) -> list[slice]:
        """Return which of some rows in ascending order lie in each process."""
        cuts = np.searchsorted(ordered, self.starts)
        return [slice(*cuts[k : k + 2]) for k in range(self.processes.size)]

    def refuse_device(self, device: str) -> None:
        """Refuse another device than the CPU where several processes work together."""
        if self.processes.shared and device != "cpu":
            raise InvalidInput(
                f"several processes share a fit on device='cpu' alone: got device={device!r}"
            )

    def transposed(self, directed: sp.csr_array) -> Any:
        """Return this process's rows (n, N) of the transpose of a matrix of which it has rows."""
        if not self.processes.shared:
            return directed.T
        entries = directed.tocoo()
        rows, columns = (np.asarray(index, np.int64) for index in entries.coords)
        order = np.argsort(columns, kind="stable")
        parts = self.split(columns[order])
        given = [
            self.processes.exchange([values[order][part] for part in parts])
            for values in (columns, rows + self.start, entries.data)
        ]
        rows, columns, data = (np.concatenate(values) for values in given)
        return sp.csr_array((data, (rows - self.start, columns)), shape=directed.shape)


class SharedGraph:
    """A process's rows of a symmetric matrix (N, N), to multiply vectors of which all have rows.

    Of the others' rows only those are asked for that some entry needs.

    Parameters
    ----------
    matrix : csr_array (n, N)
        This process's rows.
    shards
        How rows are spread.
    order : array (n,)
        The order that this process's rows of vectors are in.
    """

    def __init__(self, matrix: Any, shards: Shards, order: NDArray[Any]) -> None:
        self._processes = shards.processes
        mine = np.arange(shards.start, shards.start + matrix.shape[0])
        ordered: Any = matrix[order]
        self._inner = sp.csr_array(ordered[:, mine[order]])
        touched = np.unique(ordered.indices).astype(np.int64)
        needed = touched[(touched < shards.start) | (touched >= shards.start + len(mine))]
        self._outer = sp.csr_array(ordered[:, needed])
        asked = self._processes.exchange([needed[part] for part in shards.split(needed)])
        place = np.empty(len(mine), np.int64)
        place[order] = np.arange(len(mine))
        self._given = [place[rows - shards.start] for rows in asked]

    def __matmul__(self, vectors: NDArray[Any]) -> NDArray[Any]:
        """Return this process's rows of the product, (n, b), from its rows of the vectors."""
        parts = [np.ascontiguousarray(vectors[rows]) for rows in self._given]
        others = np.concatenate(self._processes.exchange(parts))
        product: NDArray[Any] = self._inner @ vectors
        product += self._outer @ others
        return product
