"""Approximate nearest neighbors by nearest-neighbor descent, where exact ones take too long.

Neighbors of neighbors are likely neighbors: from the leaves of random projection trees on, every
sample looks among those of its neighbors until few change (Dong, Moses, Li: Efficient k-nearest
neighbor graph construction for generic similarity measures, WWW 2011). The library pynndescent
does it; docs/scale.md compares it with others.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from zerokin.compute.machine import available_cores

LIBRARY = "pynndescent"
SURPLUS = 2
"""Neighbors sought for each one wanted: more of them make the search more reliable."""


def library() -> str | None:
    """Return the library that searches approximately, or None where it is not installed."""
    return LIBRARY if find_spec(LIBRARY) else None


def sought(n_neighbors: int) -> int:
    """Return how many neighbors are sought for some that are wanted."""
    return max(SURPLUS * n_neighbors, n_neighbors + 5)


def approximate_neighbors(unit: np.ndarray, n_neighbors: int) -> np.ndarray:
    """Return candidates for the nearest neighbors of every sample, itself among them.

    Parameters
    ----------
    unit : array (N, d_f)
        Features of unit length, float32.
    n_neighbors
        Neighbors wanted.

    Returns
    -------
    array (N, m) of int
        Of which -1 is none. The same every time with the same number of threads.
    """
    from pynndescent import NNDescent

    search = NNDescent(
        unit,
        metric="dot",
        n_neighbors=min(len(unit), sought(n_neighbors)),
        random_state=0,
        n_jobs=available_cores(),
        low_memory=True,
    )
    found: np.ndarray = search.neighbor_graph[0]
    return found
