"""Exact nearest neighbors by cosine, in blocks of rows: memory bounded, ties settled by index."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from zerokin.errors import InvalidInput
from zerokin.matrices import finite_matrix
from zerokin.parameters import DEVICE, Integer, OneOf, check_arguments
from zerokin.progress import track
from zerokin.projection.approximate import approximate_neighbors, library, sought
from zerokin.projection.arrays import Array, Arrays, arrays_for, row_blocks
from zerokin.projection.memory import (
    MEMORY_BUDGET,
    Problem,
    SearchPlan,
    budget_bytes,
    plan_search,
    refuse_no_cpu,
)
from zerokin.projection.rows import FeatureRows, bytes_in_memory, held_features

SCORE_BYTES = 256 * 2**20  # the most that one block of scores takes
MANY = 50_000  # samples from which the search is worth a progress bar
DECIMALS = 12  # cosines closer than this are ties
NEIGHBORS = Integer(1)
Search = Literal["auto", "exact", "approximate"]
SEARCH = OneOf(get_args(Search))
APPROXIMATE_FROM = 50_000
"""Samples from which ``"auto"`` takes an approximate search on a CPU: see docs/scale.md."""
SAMPLE = 1_000  # rows on which recall is measured


class Neighbors(NamedTuple):
    """Neighbors of every sample, and how many of the true ones are among them."""

    neighbors: np.ndarray
    """(N, k) of int, nearest first"""
    similarity: np.ndarray
    """(N, k) cosines"""
    recall: float
    """1.0 of an exact search; of an approximate one, measured on a sample of rows"""


def nearest_neighbors(
    F: Any,
    n_neighbors: int,
    *,
    device: str = "cpu",
    search: Search = "exact",
    memory_budget: int | str | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Find the nearest other samples of every sample by cosine similarity, exactly by default.

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
    search
        ``"exact"``; ``"approximate"`` by nearest-neighbor descent (see
        `zerokin.projection.approximate`), whose time hardly grows faster than N; or ``"auto"``:
        approximate for many samples on a CPU, where the library for it is installed.
    memory_budget
        Most memory of the process, in bytes or as ``"8GiB"``; None for no bound. F may then be
        memory-mapped or `ShardedFeatures`, of which only blocks of rows are read at a time.

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
    found = find_neighbors(
        F, n_neighbors, device=device, search=search, memory_budget=memory_budget
    )
    return found.neighbors, found.similarity


def find_neighbors(
    F: Any,
    n_neighbors: int,
    *,
    device: str = "cpu",
    search: Search = "exact",
    memory_budget: int | str | None = None,
) -> Neighbors:
    """Return what `nearest_neighbors` returns, and the recall of the search."""
    ranges = {
        "n_neighbors": NEIGHBORS,
        "device": DEVICE,
        "search": SEARCH,
        "memory_budget": MEMORY_BUDGET,
    }
    check_arguments(
        ranges, n_neighbors=n_neighbors, device=device, search=search, memory_budget=memory_budget
    )
    budget = budget_bytes(memory_budget)
    if budget is None:
        F = finite_matrix(F, "F")
    else:
        refuse_no_cpu(device)
        F, _ = held_features(F, "F", None)
    samples, width = F.shape
    k = min(int(n_neighbors), samples - 1)
    if k < 1:
        return Neighbors(np.empty((samples, 0), np.intp), np.empty((samples, 0)), 1.0)
    if budget is None:
        plan = _usual_plan(samples, samples * width * F.dtype.itemsize)
    else:
        problem = Problem(samples, width, F.dtype.itemsize, bytes_in_memory(F), k)
        plan = plan_search(problem, budget, sought(k))
    arrays = arrays_for(device)
    with arrays.full_precision():
        exact = _Search(arrays, F, k, plan)
        if _is_approximate(search, samples, device, plan):
            return _approximate(exact)
        blocks = list(row_blocks(samples, plan.rows))
        quiet = samples < MANY
        found = [
            exact.block(rows)
            for rows in track(blocks, "neighbors, blocks of rows", total=len(blocks), quiet=quiet)
        ]
    near, similarity = zip(*found, strict=True)
    return Neighbors(np.concatenate(near), np.concatenate(similarity), 1.0)


def _usual_plan(samples: int, size: int) -> SearchPlan:
    """Return how many rows to compare at a time where memory is not bounded: like F in size."""
    return SearchPlan(max(1, min(SCORE_BYTES, max(size, 2**24)) // (4 * samples)), unit=True)


def _is_approximate(search: Search, samples: int, device: str, plan: SearchPlan) -> bool:
    if search == "exact":
        return False
    if search == "auto":
        many = samples >= APPROXIMATE_FROM and device == "cpu"
        return many and plan.descent and library() is not None
    if device != "cpu" or not plan.descent:
        raise InvalidInput(
            "an approximate search for neighbors needs device='cpu', and memory for two float32 "
            "copies of F: raise memory_budget, or give search='exact'"
        )
    if library() is None:
        raise InvalidInput(
            "an approximate search for neighbors needs pynndescent: "
            "pip install 'zerokin[neighbors]'"
        )
    return True


def _approximate(exact: _Search) -> Neighbors:
    """Candidates of the approximate search, compared in float64; recall on a sample of rows."""
    samples, k = len(exact.scale), exact.k
    unit: Any = exact.unit
    candidates = approximate_neighbors(unit, k)
    near, similarity = np.empty((samples, k), np.intp), np.empty((samples, k))
    for rows in row_blocks(samples, 8192):
        near[rows], similarity[rows] = exact.best_of(rows, candidates[rows])
    drawn = np.sort(np.random.default_rng(0).choice(samples, min(SAMPLE, samples), replace=False))
    true = exact.sample(drawn)[1]
    # Of equally near samples any will do.
    hits = similarity[drawn] >= true[:, -1:] - 10.0 ** (1 - DECIMALS)
    return Neighbors(near, similarity, float(hits.mean()))


class _Search:
    """Features prepared once, then searched block by block."""

    def __init__(self, arrays: Arrays, F: Any, k: int, plan: SearchPlan) -> None:
        self.arrays, self.k = arrays, k
        self.F = F
        if not isinstance(F, FeatureRows):
            self.F = arrays.put(F, "float32" if F.dtype == np.float32 else "float64")
        samples, width = F.shape
        self.scale = np.zeros(samples)  # 1 / length, 0 for a row of zeros
        self.unit: Array | None = arrays.empty((samples, width), "float32") if plan.unit else None
        for rows in row_blocks(samples):
            part = np.asarray(F[rows], dtype=np.float64)
            length = np.sqrt(np.einsum("ij,ij->i", part, part))
            np.divide(1.0, length, out=self.scale[rows], where=length > 0)
            if self.unit is not None:
                self.unit[rows] = arrays.put(part * self.scale[rows, None], "float32")
        # Rounding of a float32 product of unit vectors grows like √d_f (probabilistic bound);
        # twice that separates a pair that is surely not among the nearest.
        self.margin = 8 * np.sqrt(width) * float(np.finfo(np.float32).eps)

    def block(self, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        """Nearest neighbors of the samples in ``rows``."""
        count = rows.stop - rows.start
        scores = self._scores(rows)
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
        kept = _first_of_each(local, columns, cosine, count, self.k)
        near[~crowded] = columns[kept].reshape(-1, self.k)
        similarity[~crowded] = cosine[kept].reshape(-1, self.k)
        many = np.flatnonzero(crowded)
        for part in row_blocks(len(many), max(1, count // 8)):  # float64 and masks: 8 times a block
            near[many[part]], similarity[many[part]] = self.ties(many[part] + rows.start)
        return near, similarity

    def best_of(self, rows: slice, candidates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Nearest neighbors of the samples in ``rows`` among candidates (n, m) of each."""
        count = rows.stop - rows.start
        own = np.arange(rows.start, rows.stop)
        # A row may lack candidates (-1) or have fewer than k: its neighbors in the order of the
        # features stand in, as likely as any.
        spare = (own[:, None] + np.arange(1, self.k + 1)) % len(self.scale)
        known = (candidates >= 0) & (candidates != own[:, None])
        few = known.sum(axis=1) < self.k
        local, place = np.nonzero(known)
        columns = candidates[local, place].astype(np.int64)
        local = np.append(local, np.repeat(np.flatnonzero(few), self.k))
        columns = np.append(columns, spare[few].ravel())
        local, columns = np.divmod(np.unique(local * len(self.scale) + columns), len(self.scale))
        cosine = self.cosines(local + rows.start, columns)
        kept = _first_of_each(local, columns, cosine, count, self.k)
        return columns[kept].reshape(count, self.k), cosine[kept].reshape(count, self.k)

    def sample(self, samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Nearest neighbors of a few samples."""
        parts = [self.ties(samples[part]) for part in row_blocks(len(samples), 128)]
        near, similarity = zip(*parts, strict=True)
        return np.concatenate(near), np.concatenate(similarity)

    def _scores(self, rows: slice) -> Array:
        """Cosines of the samples in ``rows`` with all, in float32."""
        if self.unit is not None:
            return self.unit[rows] @ self.unit.T
        mine = self._unit_rows(rows)
        scores = np.empty((len(mine), len(self.F)), np.float32)
        for others in row_blocks(len(self.F)):
            np.matmul(mine, self._unit_rows(others).T, out=scores[:, others])
        return scores

    def _unit_rows(self, rows: slice) -> np.ndarray:
        part = np.asarray(self.F[rows], dtype=np.float64) * self.scale[rows, None]
        return part.astype(np.float32)

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


def _first_of_each(
    local: np.ndarray, columns: np.ndarray, cosine: np.ndarray, count: int, k: int
) -> np.ndarray:
    """Return the positions of the k nearest pairs of every row; ties go to the lower column."""
    order = np.lexsort((columns, -cosine, local))
    counts = np.bincount(local, minlength=count)
    rank = np.arange(len(local)) - np.repeat(np.cumsum(counts) - counts, counts)
    first: np.ndarray = order[rank < k]
    return first
