"""Which pairs of samples can be neighbors: screened in float32, then compared in float64."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zerokin.projection.arrays import Array, Arrays, row_blocks
from zerokin.projection.rows import FeatureRows

DECIMALS = 12  # cosines closer than this are ties
CACHED = 2**18  # numbers in float64 that a processor's cache holds


class Pairs(NamedTuple):
    """Pairs of samples with their cosines, in any order."""

    local: NDArray[Any]
    """(m,) the first of each pair: a position in the block of rows that was looked at"""
    columns: NDArray[Any]
    """(m,) the second: a position among all samples"""
    cosine: NDArray[Any]
    """(m,) to 12 decimals"""


class Samples:
    """Consecutive samples, prepared for comparison with others.

    Parameters
    ----------
    arrays
        NumPy or torch.
    F : array or FeatureRows (n, d_f)
        Features.
    unit
        Whether to hold features of unit length in float32, or to make them when they are needed.
    start
        Position of the first among all samples.
    """

    def __init__(self, arrays: Arrays, F: Any, *, unit: bool, start: int = 0) -> None:
        self.arrays, self.start = arrays, start
        self.F = F
        if not isinstance(F, FeatureRows):
            self.F = arrays.put(F, "float32" if F.dtype == np.float32 else "float64")
        self.width = int(F.shape[1])
        self.scale = np.zeros(len(F))  # 1 / length, 0 for a row of zeros
        self.unit: Array | None = arrays.empty(F.shape, "float32") if unit else None
        block = 4096 if isinstance(F, FeatureRows) else max(64, CACHED // self.width)
        for rows in row_blocks(len(F), block):
            part = np.asarray(F[rows], dtype=np.float64)
            length = np.sqrt(np.einsum("ij,ij->i", part, part))
            np.divide(1.0, length, out=self.scale[rows], where=length > 0)
            if self.unit is not None:
                self.unit[rows] = arrays.put(part * self.scale[rows, None], "float32")

    def __len__(self) -> int:
        return len(self.scale)

    def part(self, rows: slice) -> Samples:
        """Return some consecutive ones of these samples, prepared already."""
        part = copy(self)
        part.start, part.F = self.start + rows.start, self.F[rows]
        part.scale = self.scale[rows]
        part.unit = None if self.unit is None else self.unit[rows]
        return part

    def unit_rows(self, rows: slice) -> Array:
        """Return samples of unit length, (n, d_f) in float32."""
        if self.unit is not None:
            return self.unit[rows]
        part = np.asarray(self.F[rows], dtype=np.float64) * self.scale[rows, None]
        return part.astype(np.float32)

    def rows(self, index: NDArray[Any]) -> Array:
        """Return some samples as they are, in float64."""
        return self.arrays.cast(self.F[self.arrays.put(index, "int64")], "float64")


class Screen:
    """A search for neighbors of some samples among others, which may be the same.

    Parameters
    ----------
    mine, others
        The samples whose neighbors are sought, and those among which.
    k
        Neighbors of each.
    """

    def __init__(self, mine: Samples, others: Samples, k: int) -> None:
        self.arrays, self.mine, self.others = mine.arrays, mine, others
        self.k = min(k, len(others))
        # Rounding of a float32 product of unit vectors grows like √d_f (probabilistic bound);
        # twice that separates a pair that is surely not among the nearest.
        self.margin = 8 * np.sqrt(mine.width) * float(np.finfo(np.float32).eps)

    def block(self, rows: slice, known: NDArray[Any] | None = None) -> Pairs:
        """Return the pairs of the samples in ``rows`` that are among the k nearest.

        ``known`` is a cosine for each of them that k others are known to reach: pairs below it
        are left out.
        """
        count = rows.stop - rows.start
        scores = self._scores(rows)
        own = self._own(np.arange(rows.start, rows.stop))
        inside = self.arrays.put(np.flatnonzero(own >= 0), "int64")
        scores[inside, self.arrays.put(own[own >= 0], "int64")] = -np.inf
        least: Any = np.full(count, -2.0, np.float32)
        if len(self.others) > self.k:
            least = self.arrays.kth_largest(scores, self.k) - self.margin
        if known is not None:
            least = np.maximum(least, (known - self.margin).astype(np.float32))
        # Everything ties with a row of zeros: leave it out here, like others with many ties.
        zero = self.arrays.put(self.mine.scale[rows] == 0, "bool")
        close = scores >= least[:, None]
        crowded = self.arrays.get((close.sum(1) > 4 * self.k + 64) | zero)
        close[self.arrays.put(crowded, "bool")] = False
        local, columns = (self.arrays.get(index) for index in self.arrays.xp.where(close))
        del scores, close
        found = [Pairs(local, columns, self.cosines(local + rows.start, columns))]
        many = np.flatnonzero(crowded)
        for part in row_blocks(len(many), max(1, count // 8)):  # float64 and masks: 8 times a block
            near, cosine = self.ties(many[part] + rows.start)
            known_pairs = np.isfinite(cosine.ravel())
            pairs = np.repeat(many[part], near.shape[1]), near.ravel(), cosine.ravel()
            found.append(Pairs(*(values[known_pairs] for values in pairs)))
        local, columns, cosine = (np.concatenate(values) for values in zip(*found, strict=True))
        return Pairs(local, columns + self.others.start, cosine)

    def cosines(self, left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
        """Cosine of each pair of samples in float64, rounded so that duplicates tie."""
        result = np.empty(len(left))
        numbers = CACHED if self.arrays.device == "cpu" else 2**22
        step = max(64, numbers // self.mine.width)
        for pairs in row_blocks(len(left), step):
            one, other = self.mine.rows(left[pairs]), self.others.rows(right[pairs])
            result[pairs] = self.arrays.get(self.arrays.xp.einsum("ij,ij->i", one, other))
        result *= self.mine.scale[left]
        result *= self.others.scale[right]
        return np.round(result, DECIMALS, out=result)

    def ties(self, samples: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Nearest neighbors of samples that very many others are equally close to."""
        scores = np.empty((len(samples), len(self.others)))
        mine = self.mine.rows(samples)
        for rows in row_blocks(len(self.others)):
            product = mine @ self.arrays.cast(self.others.F[rows], "float64").T
            scores[:, rows] = self.arrays.get(product)
        scores *= self.mine.scale[samples, None]
        scores *= self.others.scale
        np.round(scores, DECIMALS, out=scores)
        own = self._own(samples)
        scores[np.flatnonzero(own >= 0), own[own >= 0]] = -np.inf
        last = scores.shape[1] - self.k
        bound = np.partition(scores, last, axis=1)[:, last, None]
        above, equal = scores > bound, scores == bound
        missing = self.k - above.sum(axis=1, keepdims=True)
        chosen = above | (equal & (np.cumsum(equal, axis=1, dtype=np.int32) <= missing))
        columns = np.nonzero(chosen)[1].reshape(len(samples), self.k)
        cosine = np.take_along_axis(scores, columns, axis=1)
        order = np.argsort(-cosine, axis=1, kind="stable")
        return np.take_along_axis(columns, order, 1), np.take_along_axis(cosine, order, 1)

    def _own(self, samples: NDArray[Any]) -> NDArray[Any]:
        """Return where samples stand themselves among the others, or -1."""
        place = samples + (self.mine.start - self.others.start)
        return np.where((place >= 0) & (place < len(self.others)), place, -1)

    def _scores(self, rows: slice) -> Array:
        """Cosines of the samples in ``rows`` with all others, in float32."""
        mine = self.mine.unit_rows(rows)
        if self.others.unit is not None:
            return mine @ self.others.unit.T
        scores = np.empty((len(mine), len(self.others)), np.float32)
        for others in row_blocks(len(self.others)):
            np.matmul(mine, self.others.unit_rows(others).T, out=scores[:, others])
        return scores


def first_of_each(pairs: Pairs, count: int, k: int) -> NDArray[Any]:
    """Return the positions of the k nearest pairs of every row; ties go to the lower column."""
    local, columns, cosine = pairs
    order = np.lexsort((columns, -cosine, local))
    counts = np.bincount(local, minlength=count)
    rank = np.arange(len(local)) - np.repeat(np.cumsum(counts) - counts, counts)
    first: NDArray[Any] = order[rank < k]
    return first
