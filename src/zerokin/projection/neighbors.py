"""Exact nearest neighbors by cosine, in blocks of rows: memory bounded, ties settled by index."""

from __future__ import annotations

from typing import Any

import numpy as np

from zerokin.matrices import finite_matrix
from zerokin.parameters import DEVICE, Integer, check_arguments
from zerokin.progress import track
from zerokin.projection.arrays import Array, Arrays, arrays_for, row_blocks

SCORE_BYTES = 256 * 2**20  # the most that one block of scores takes
MANY = 50_000  # samples from which the search is worth a progress bar
DECIMALS = 12  # cosines closer than this are ties
NEIGHBORS = Integer(1)


def nearest_neighbors(
    F: np.ndarray, n_neighbors: int, *, device: str = "cpu"
) -> tuple[np.ndarray, np.ndarray]:
    """Find the nearest other samples of every sample by cosine similarity, exactly.

    A float32 product screens all pairs; those that could be among the nearest are then compared
    in float64. So the answer does not depend on the size of blocks, threads or device.

    Parameters
    ----------
    F : array (N, d_f)
        Features; a row of zeros has similarity 0 with everything.
    n_neighbors
        How many; all other samples if there are fewer.
    device
        ``"cpu"`` (NumPy) or a torch device.

    Returns
    -------
    neighbors : array (N, k) of int
        Nearest first; of equally near ones, the lower index first.
    similarity : array (N, k)
        Their cosines, to 12 decimals.

    Examples
    --------
    >>> import numpy as np
    >>> neighbors, cosine = nearest_neighbors(np.array([[1, 0], [1, 1], [0, 2.0]]), 1)
    >>> neighbors.ravel(), cosine.ravel().round(3)
    (array([1, 0, 1]), array([0.707, 0.707, 0.707]))
    """
    check_arguments(
        {"n_neighbors": NEIGHBORS, "device": DEVICE}, n_neighbors=n_neighbors, device=device
    )
    F = finite_matrix(F, "F")
    samples = len(F)
    k = min(int(n_neighbors), samples - 1)
    if k < 1:
        return np.empty((samples, 0), np.intp), np.empty((samples, 0))
    arrays = arrays_for(device)
    with arrays.full_precision():
        search = _Search(arrays, F, k)
        block = max(1, min(SCORE_BYTES, max(F.nbytes, 2**24)) // (4 * samples))
        blocks = list(row_blocks(samples, block))
        quiet = samples < MANY
        found = [
            search.block(rows)
            for rows in track(blocks, "neighbors, blocks of rows", total=len(blocks), quiet=quiet)
        ]
    return np.concatenate([near for near, _ in found]), np.concatenate([sim for _, sim in found])


class _Search:
    """Features prepared once, then searched block by block."""

    def __init__(self, arrays: Arrays, F: Any, k: int) -> None:
        self.arrays, self.k = arrays, k
        self.F = arrays.put(F, "float32" if F.dtype == np.float32 else "float64")
        samples, width = F.shape
        self.scale = np.zeros(samples)  # 1 / length, 0 for a row of zeros
        self.unit = arrays.empty((samples, width), "float32")
        for rows in row_blocks(samples):
            part = np.asarray(F[rows], dtype=np.float64)
            length = np.sqrt(np.einsum("ij,ij->i", part, part))
            np.divide(1.0, length, out=self.scale[rows], where=length > 0)
            self.unit[rows] = arrays.put(part * self.scale[rows, None], "float32")
        # Rounding of a float32 product of unit vectors grows like √d_f (probabilistic bound);
        # twice that separates a pair that is surely not among the nearest.
        self.margin = 8 * np.sqrt(width) * float(np.finfo(np.float32).eps)

    def block(self, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        """Nearest neighbors of the samples in ``rows``."""
        count = rows.stop - rows.start
        scores = self.unit[rows] @ self.unit.T
        inside = self.arrays.put(np.arange(count), "int64")
        scores[inside, inside + rows.start] = -np.inf
        least = self.arrays.kth_largest(scores, self.k) - self.margin
        # Everything ties with a row of zeros: leave it out here, like others with many ties.
        zero = self.arrays.put(self.scale[rows] == 0, "bool")
        close = scores >= least[:, None]
        crowded = self.arrays.get((close.sum(1) > 4 * self.k + 64) | zero)
        close[self.arrays.put(crowded, "bool")] = False
        local, columns = (self.arrays.get(index) for index in self.arrays.xp.where(close))
        del scores, close
        near = np.empty((count, self.k), np.intp)
        similarity = np.empty((count, self.k))
        cosine = self.cosines(local + rows.start, columns)
        order = np.lexsort((columns, -cosine, local))
        counts = np.bincount(local, minlength=count)
        rank = np.arange(len(local)) - np.repeat(np.cumsum(counts) - counts, counts)
        kept = order[rank < self.k]
        near[~crowded] = columns[kept].reshape(-1, self.k)
        similarity[~crowded] = cosine[kept].reshape(-1, self.k)
        many = np.flatnonzero(crowded)
        for part in row_blocks(len(many), max(1, count // 8)):  # float64 and masks: 8 times a block
            near[many[part]], similarity[many[part]] = self.ties(many[part] + rows.start)
        return near, similarity

    def cosines(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Cosine of each pair of samples in float64, rounded so that duplicates tie."""
        result = np.empty(len(left))
        step = max(64, 2**22 // self.F.shape[1])
        for pairs in row_blocks(len(left), step):
            one, other = self._rows(left[pairs]), self._rows(right[pairs])
            result[pairs] = self.arrays.get(self.arrays.xp.einsum("ij,ij->i", one, other))
        result *= self.scale[left]
        result *= self.scale[right]
        return np.round(result, DECIMALS, out=result)

    def ties(self, samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Nearest neighbors of samples that very many others are equally close to."""
        scores = np.empty((len(samples), len(self.F)))
        mine = self._rows(samples)
        for rows in row_blocks(len(self.F)):
            product = mine @ self.arrays.cast(self.F[rows], "float64").T
            scores[:, rows] = self.arrays.get(product)
        scores *= self.scale[samples, None]
        scores *= self.scale
        np.round(scores, DECIMALS, out=scores)
        scores[np.arange(len(samples)), samples] = -np.inf
        last = scores.shape[1] - self.k
        bound = np.partition(scores, last, axis=1)[:, last, None]
        above, equal = scores > bound, scores == bound
        missing = self.k - above.sum(axis=1, keepdims=True)
        chosen = above | (equal & (np.cumsum(equal, axis=1, dtype=np.int32) <= missing))
        columns = np.nonzero(chosen)[1].reshape(len(samples), self.k)
        cosine = np.take_along_axis(scores, columns, axis=1)
        order = np.argsort(-cosine, axis=1, kind="stable")
        return np.take_along_axis(columns, order, 1), np.take_along_axis(cosine, order, 1)

    def _rows(self, index: np.ndarray) -> Array:
        return self.arrays.cast(self.F[self.arrays.put(index, "int64")], "float64")
