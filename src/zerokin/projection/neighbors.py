"""Exact nearest neighbors by cosine, in blocks of rows: memory bounded, ties settled by index.

Several processes pass their rows round: each compares its own with a block of another's at a time.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from zerokin.errors import InvalidInput
from zerokin.matrices import finite_matrix
from zerokin.parameters import DEVICE, Integer, OneOf, check_arguments
from zerokin.progress import track
from zerokin.projection.approximate import approximate_neighbors, library, sought
from zerokin.projection.arrays import arrays_for, row_blocks
from zerokin.projection.memory import (
    MEMORY_BUDGET,
    READ_ROWS,
    Problem,
    SearchPlan,
    budget_bytes,
    plan_search,
    refuse_no_cpu,
)
from zerokin.projection.rows import bytes_in_memory, held_features
from zerokin.projection.screening import DECIMALS, Pairs, Samples, Screen, first_of_each
from zerokin.projection.shards import Shards

SCORE_BYTES = 256 * 2**20  # the most that one block of scores takes
MANY = 50_000  # samples from which the search is worth a progress bar
NEIGHBORS = Integer(1)
Search = Literal["auto", "exact", "approximate"]
SEARCH = OneOf(get_args(Search))
APPROXIMATE_FROM = 50_000
"""Samples from which ``"auto"`` takes an approximate search on a CPU: see docs/scale.md."""
PASSED_ROWS = 16_384
"""Rows that go round among processes at a time, where memory is no matter."""
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
    shards = Shards.of(samples)
    shards.refuse_device(device)
    k = min(int(n_neighbors), shards.total - 1)
    if k < 1:
        return Neighbors(np.empty((samples, 0), np.intp), np.empty((samples, 0)), 1.0)
    if budget is None:
        plan = _usual_plan(shards.largest, shards.largest * width * F.dtype.itemsize)
    else:
        held = shards.most(bytes_in_memory(F))
        problem = Problem(shards.largest, width, F.dtype.itemsize, held, k)
        plan = plan_search(problem, budget, sought(k))
    arrays = arrays_for(device)
    with arrays.full_precision():
        mine = Samples(arrays, F, unit=plan.unit, start=shards.start)
        if shards.processes.shared:
            _refuse_approximate(search)
            return Neighbors(*_passed_round(mine, k, shards, plan, bound=budget is not None), 1.0)
        screen = Screen(mine, mine, k)
        if _is_approximate(search, samples, device, plan):
            return _approximate(screen)
        near, similarity = np.empty((samples, k), np.intp), np.empty((samples, k))
        blocks = list(row_blocks(samples, plan.rows))
        quiet = samples < MANY
        for rows in track(blocks, "neighbors, blocks of rows", total=len(blocks), quiet=quiet):
            pairs = screen.block(rows)
            near[rows], similarity[rows] = _nearest(pairs, rows.stop - rows.start, k)
    return Neighbors(near, similarity, 1.0)


def _nearest(pairs: Pairs, count: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and cosines (count, k) of the nearest of each row."""
    kept = first_of_each(pairs, count, k)
    return pairs.columns[kept].reshape(count, k), pairs.cosine[kept].reshape(count, k)


def _passed_round(
    mine: Samples, k: int, shards: Shards, plan: SearchPlan, *, bound: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Neighbors of this process's samples among those of all, a block of which goes round.

    The best k so far are kept with every sample: what cannot be among them is not compared.
    """
    samples = len(mine)
    near, similarity = np.full((samples, k), -1, np.intp), np.full((samples, k), -np.inf)
    processes, dtype = shards.processes, mine.F.dtype
    width = min(READ_ROWS[1] if bound else PASSED_ROWS, shards.largest)
    step = max(1, plan.rows * shards.largest // width)
    blocks = [
        (source, rows)
        for source in range(processes.size)
        for rows in row_blocks(int(np.diff(shards.starts)[source]), width)
    ]
    quiet = shards.total < MANY or not processes.leads
    for source, given in track(blocks, "neighbors, blocks of rows", total=len(blocks), quiet=quiet):
        own = mine.part(given) if source == processes.rank else None
        shape = (given.stop - given.start, mine.width)
        F = processes.pass_round(None if own is None else own.F, source, shape, dtype)
        start = int(shards.starts[source]) + given.start
        others = own or Samples(mine.arrays, F, unit=True, start=start)
        screen = Screen(mine, others, k)
        for rows in row_blocks(samples, step):
            count = rows.stop - rows.start
            new = screen.block(rows, similarity[rows, -1])
            before = np.repeat(np.arange(count), k), near[rows].ravel(), similarity[rows].ravel()
            together = Pairs(*(np.append(*both) for both in zip(before, new, strict=True)))
            near[rows], similarity[rows] = _nearest(together, count, k)
    return near, similarity


def _refuse_approximate(search: Search) -> None:
    if search == "approximate":
        raise InvalidInput(
            "an approximate search for neighbors is for one process: give search='exact' to several"
        )


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


def _approximate(screen: Screen) -> Neighbors:
    """Candidates of the approximate search, compared in float64; recall on a sample of rows."""
    samples, k = len(screen.mine), screen.k
    unit: Any = screen.mine.unit
    candidates = approximate_neighbors(unit, k)
    near, similarity = np.empty((samples, k), np.intp), np.empty((samples, k))
    for rows in row_blocks(samples, 8192):
        near[rows], similarity[rows] = _best_of(screen, rows, candidates[rows])
    drawn = np.sort(np.random.default_rng(0).choice(samples, min(SAMPLE, samples), replace=False))
    true = np.concatenate([screen.ties(drawn[part])[1] for part in row_blocks(len(drawn), 128)])
    # Of equally near samples any will do.
    hits = similarity[drawn] >= true[:, -1:] - 10.0 ** (1 - DECIMALS)
    return Neighbors(near, similarity, float(hits.mean()))


def _best_of(screen: Screen, rows: slice, candidates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nearest neighbors of the samples in ``rows`` among candidates (n, m) of each."""
    samples, k, count = len(screen.mine), screen.k, rows.stop - rows.start
    own = np.arange(rows.start, rows.stop)
    # A row may lack candidates (-1) or have fewer than k: its neighbors in the order of the
    # features stand in, as likely as any.
    spare = (own[:, None] + np.arange(1, k + 1)) % samples
    known = (candidates >= 0) & (candidates != own[:, None])
    few = known.sum(axis=1) < k
    local, place = np.nonzero(known)
    columns = candidates[local, place].astype(np.int64)
    local = np.append(local, np.repeat(np.flatnonzero(few), k))
    columns = np.append(columns, spare[few].ravel())
    local, columns = np.divmod(np.unique(local * samples + columns), samples)
    return _nearest(Pairs(local, columns, screen.cosines(local + rows.start, columns)), count, k)
