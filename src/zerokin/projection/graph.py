"""The graph over training samples: exact nearest neighbors, weights, normalized Laplacian.

Eq. "graph" of the paper: L = I − D^{-1/2} 𝒲 D^{-1/2}, with 𝒲 nonnegative and symmetric.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp

from zerokin.errors import InvalidInput, shown
from zerokin.parameters import OneOf, Ranges, check_arguments
from zerokin.projection.neighbors import NEIGHBORS, Search, find_neighbors
from zerokin.projection.shards import Shards

EdgeWeights = Literal["cosine", "heat"]


def neighbor_graph(
    F: np.ndarray,
    n_neighbors: int = 10,
    *,
    weights: EdgeWeights = "cosine",
    device: str = "cpu",
    search: Search = "exact",
    memory_budget: int | str | None = None,
) -> sp.csr_array:
    """Link every sample with its nearest ones by cosine.

    Two samples are linked if either is among the other's nearest. Samples without a neighbor
    of positive similarity (such as an all-zero row) stay alone.

    Parameters
    ----------
    F : array (N, d_f)
        Features.
    n_neighbors
        Neighbors of each sample; all other samples if there are fewer.
    weights
        ``"cosine"``: the cosine similarity, where positive. ``"heat"``: exp(−d²/σ²) with d the
        Euclidean distance between the features scaled to length 1 and σ² the mean of d² over
        all neighbors, for the same links.
    device
        Where to search.
    search
        ``"exact"``, ``"approximate"`` or ``"auto"``: see `nearest_neighbors`.
    memory_budget
        Most memory of the process, in bytes or as ``"8GiB"``; None for no bound.

    Returns
    -------
    csr_array (N, N)
        Symmetric, float64, nothing on the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> F = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]])
    >>> neighbor_graph(F, 1).toarray().round(3)
    array([[0.   , 0.995, 0.   , 0.   ],
           [0.995, 0.   , 0.   , 0.   ],
           [0.   , 0.   , 0.   , 0.995],
           [0.   , 0.   , 0.995, 0.   ]])
    """
    return linked_samples(
        F,
        n_neighbors,
        weights=weights,
        device=device,
        search=search,
        memory_budget=memory_budget,
    )[0]


def linked_samples(
    F: Any,
    n_neighbors: int,
    *,
    weights: EdgeWeights = "cosine",
    device: str = "cpu",
    search: Search = "exact",
    memory_budget: int | str | None = None,
) -> tuple[sp.csr_array, float]:
    """Return the graph of `neighbor_graph`, and the share of true neighbors among its links."""
    check_graph_options(n_neighbors, weights)
    found = find_neighbors(
        F, n_neighbors, device=device, search=search, memory_budget=memory_budget
    )
    neighbors, similarity = found.neighbors, found.similarity
    n, k = neighbors.shape
    shards = Shards.of(n)
    directed = sp.csr_array(
        (np.maximum(similarity, 0.0).ravel(), neighbors.ravel(), np.arange(n + 1) * k),
        shape=(n, shards.total),
    )
    graph = sp.csr_array(directed.maximum(shards.transposed(directed)))
    graph.eliminate_zeros()
    graph.sort_indices()
    links = shards.processes.sum(np.array([graph.nnz]))[0]
    if weights == "heat" and links:
        squared_distance = 2.0 - 2.0 * graph.data
        scale = shards.processes.sum(squared_distance.sum(keepdims=True))[0] / links
        graph.data = np.exp(-squared_distance / scale) if scale > 0 else np.ones_like(graph.data)
    return graph, found.recall


def check_graph_options(n_neighbors: object, weights: object) -> None:
    """Refuse options that `neighbor_graph` does not know."""
    ranges: Ranges = {
        "n_neighbors": NEIGHBORS,
        "weights": OneOf(get_args(EdgeWeights)),
    }
    check_arguments(ranges, n_neighbors=n_neighbors, weights=weights)


def normalized_laplacian(graph: Any) -> sp.csr_array:
    """Return L = I − D^{-1/2} 𝒲 D^{-1/2} of a graph, exactly symmetric.

    A sample without neighbors gets an empty row (0 on the diagonal, not 1): there is nothing
    its semantics should resemble, and a 1 would draw them towards zero.

    Parameters
    ----------
    graph : sparse array (N, N)
        Symmetric nonnegative weights.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> path = sp.csr_array(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    >>> normalized_laplacian(path).toarray().round(3)
    array([[ 1.   , -0.707,  0.   ],
           [-0.707,  1.   , -0.707],
           [ 0.   , -0.707,  1.   ]])
    """
    return shared_laplacian(_checked_graph(graph), Shards.alone(graph.shape[0]))


def shared_laplacian(graph: Any, shards: Shards) -> sp.csr_array:
    """Return the rows (n, N) of the normalized Laplacian that belong to the rows of a graph."""
    weights = sp.coo_array(graph)
    own = np.asarray(weights.sum(axis=1), dtype=np.float64).ravel()
    linked = own > 0
    degree = shards.processes.gather(own)
    scale = np.zeros_like(degree)
    scale[degree > 0] = 1.0 / np.sqrt(degree[degree > 0])
    rows, columns = weights.coords
    # The product of the two scales is formed first: it is the same for (u, v) and (v, u).
    scaled = weights.data * (scale[rows + shards.start] * scale[columns])
    normalized = sp.csr_array((scaled, (rows, columns)), shape=weights.shape)
    diagonal = sp.diags_array(linked.astype(np.float64), offsets=shards.start, shape=weights.shape)
    laplacian = sp.csr_array(diagonal - normalized)
    laplacian.sort_indices()
    return laplacian


def _checked_graph(graph: Any) -> sp.coo_array:
    """Return the weights of a graph, refusing what is not square, finite and nonnegative."""
    try:
        weights = sp.coo_array(graph)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"graph must be a sparse array (N, N): got {shown(graph)}") from error
    if (
        weights.ndim != 2
        or weights.shape[0] != weights.shape[1]
        or weights.dtype.kind not in "fiub"
    ):
        raise InvalidInput(
            f"graph must hold numbers in shape (N, N): got {weights.dtype} of shape {weights.shape}"
        )
    if weights.nnz and not (np.isfinite(weights.data).all() and weights.data.min() >= 0):
        raise InvalidInput("graph must hold weights that are finite and 0 or more")
    if weights.nnz and abs(weights - weights.T).max() > 1e-6 * weights.data.max():
        raise InvalidInput("graph must be symmetric: give graph.maximum(graph.T)")
    return weights


def checked_laplacian(laplacian: Any, samples: int) -> sp.csr_array:
    """Check a Laplacian that the user brought: sparse, (N, N), symmetric and normalized."""
    is_sparse: bool = sp.issparse(laplacian)
    if not is_sparse:
        raise InvalidInput("laplacian must be a SciPy sparse array, such as normalized_laplacian's")
    matrix: Any = sp.csr_array(laplacian)
    if matrix.shape != (samples, samples):
        raise InvalidInput(
            f"laplacian has shape {matrix.shape}, but F has {samples:,} rows: "
            "build both from the same samples"
        )
    if not np.isfinite(matrix.data).all():
        raise InvalidInput("laplacian holds values that are not finite")
    if abs(matrix - matrix.T).max() > 1e-6:
        raise InvalidInput("laplacian is not symmetric: symmetrize its graph, (A + A.T) / 2")
    diagonal = matrix.diagonal()
    others = matrix - sp.diags_array(diagonal)
    if diagonal.min() < 0 or diagonal.max() > 1 + 1e-6 or others.max() > 1e-6:
        raise InvalidInput(
            "laplacian is not that of a graph, normalized (at most 1 on the diagonal, nothing "
            "positive beside it): give normalized_laplacian(graph)"
        )
    checked: sp.csr_array = matrix.astype(np.float64)
    return checked
