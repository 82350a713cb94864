"""What every fit over the same features shares: FᵀF factored once, and the graph."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from zerokin.compute.processes import Processes
from zerokin.matrices import finite_matrix, refuse_too_large
from zerokin.parameters import DEVICE, OneOf, Optional, Ranges, check_arguments
from zerokin.projection.arrays import DTYPES, Array, Arrays, arrays_for, row_blocks
from zerokin.projection.graph import (
    EdgeWeights,
    check_graph_options,
    linked_samples,
    shared_laplacian,
)
from zerokin.projection.memory import (
    MEMORY_BUDGET,
    READ_ROWS,
    Problem,
    budget_bytes,
    plan_factors,
    refuse_no_cpu,
)
from zerokin.projection.neighbors import SEARCH, Search
from zerokin.projection.rows import FeatureRows, bytes_in_memory, held_features
from zerokin.projection.shards import Shards


class FeatureSpectrum:
    """Features with the eigenvectors of FᵀF and Laplacians of their neighbor graphs.

    Both are the same for every layer of a hierarchy, every iteration and every (α, β, ε, γ):
    make one spectrum and give it to all the fits.

    Parameters
    ----------
    F : array (N, d_f)
        Features of the training samples. Not copied where it already has the type and device.
        Of several processes (`zerokin.compute.joined`) each gives its own rows.
    device
        ``"cpu"`` (NumPy) or a torch device such as ``"cuda"``.
    dtype
        ``"float32"`` or ``"float64"`` for arrays with a row per sample; as F's by default.
        Matrices without samples (FᵀF, EᵀE, W) are float64 always.
    memory_budget
        Most memory of the process, in bytes or as ``"8GiB"``; None for no bound. Memory-mapped
        features and `ShardedFeatures` are then read by blocks of rows and never held as a whole.
    neighbor_search
        How the graph's neighbors are found: see `neighbor_graph`.

    Attributes
    ----------
    eigenvalues : array (d,)
        Of FᵀF, ascending. d is d_f, or N if that is smaller.
    eigenvectors : array (d, d)
    total : float
        ‖F‖².
    graph_recalls : dict
        Share of the true neighbors that each graph built so far has, by ``n_neighbors``; measured
        on a sample of rows where the search was approximate, 1.0 where it was exact.

    Examples
    --------
    >>> import numpy as np
    >>> spectrum = FeatureSpectrum(np.array([[3.0, 0.0], [0.0, 1.0], [0.0, 1.0]]))
    >>> spectrum.eigenvalues
    array([2., 9.])
    >>> spectrum.laplacian(1).shape
    (3, 3)
    """

    _parameter_ranges: ClassVar[Ranges] = {
        "device": DEVICE,
        "dtype": Optional(OneOf(DTYPES)),
        "memory_budget": MEMORY_BUDGET,
        "neighbor_search": SEARCH,
    }

    def __init__(
        self,
        F: Any,
        *,
        device: str = "cpu",
        dtype: str | None = None,
        memory_budget: int | str | None = None,
        neighbor_search: Search = "auto",
    ) -> None:
        check_arguments(
            self._parameter_ranges,
            device=device,
            dtype=dtype,
            memory_budget=memory_budget,
            neighbor_search=neighbor_search,
        )
        self.memory_budget = budget_bytes(memory_budget)
        self.neighbor_search = neighbor_search
        self.graph_recalls: dict[int, float] = {}
        if self.memory_budget is not None:
            refuse_no_cpu(device)
            self.features, dtype = held_features(F, "F", dtype)
        else:
            self.features = finite_matrix(F, "F")
            if dtype is None:
                dtype = "float32" if self.features.dtype.itemsize <= 4 else "float64"
            if dtype == "float32":
                refuse_too_large(self.features.astype(np.float32, copy=False), "F")
        self.dtype = dtype
        self.device = str(device)
        self.arrays = arrays_for(self.device)
        self._laplacians: dict[tuple[int, str], sp.csr_array] = {}
        n, d_f = self.features.shape
        self.shards = Shards.of(n)
        self.shards.refuse_device(self.device)
        self.processes = self.shards.processes
        self.processes.refuse_different("features", f"{d_f} {dtype} {self.memory_budget}".encode())
        self._rows: Array | None = None
        if n < d_f and not self.processes.shared:
            # F = RᵀQᵀ: fewer samples than features span only N directions, and W stays in
            # their span, so the N × N factor takes the place of F and Q maps W back.
            wide = self.arrays.put(self.features[:], "float64").T
            self._rows, triangle = self.arrays.xp.linalg.qr(wide)
            self.F: Array = self.arrays.contiguous(self.arrays.cast(triangle.T, dtype))
        elif isinstance(self.features, FeatureRows):
            self.F = self.features
        else:
            self.F = self.arrays.put(self.features, dtype)
        rows = READ_ROWS[1]
        if self.memory_budget is not None:
            rows = plan_factors(self.problem(), self.memory_budget).rows
        gram = gram_matrix(self.arrays, self.F, self.processes, rows)
        self.total = float(gram.diagonal().sum())
        eigenvalues, eigenvectors = self.arrays.xp.linalg.eigh(gram)
        # Machines may differ in last digits: what one of them found counts.
        self.eigenvectors = self.processes.leading(eigenvectors)
        eigenvalues = self.processes.leading(eigenvalues)
        self.eigenvalues = eigenvalues.clip(0)  # FᵀF has none below 0 but by rounding

    def problem(self, n_neighbors: int = 0) -> Problem:
        """Return the sizes that a plan for the memory goes by."""
        width = self.features.shape[1]
        itemsize = np.dtype(self.dtype).itemsize
        samples, held = self.shards.largest, self.shards.most(bytes_in_memory(self.features))
        return Problem(samples, width, itemsize, held, n_neighbors)

    def lift(self, W: Array) -> Array:
        """Map a projection (d, r) of the working features to one (d_f, r) of F itself."""
        return W if self._rows is None else self._rows @ W

    def laplacian(self, n_neighbors: int = 10, *, weights: EdgeWeights = "cosine") -> sp.csr_array:
        """Return the normalized Laplacian of the neighbor graph, built on first use.

        Parameters
        ----------
        n_neighbors
            Neighbors of each sample.
        weights
            Weight of an edge: see `neighbor_graph`.
        """
        check_graph_options(n_neighbors, weights)
        key = (int(n_neighbors), weights)
        if key not in self._laplacians:
            graph, recall = linked_samples(
                self.features,
                n_neighbors,
                weights=weights,
                device=self.device,
                search=self.neighbor_search,
                memory_budget=self.memory_budget,
            )
            self._laplacians[key] = shared_laplacian(graph, self.shards)
            self.graph_recalls[int(n_neighbors)] = recall
        return self._laplacians[key]

    def holds(self, F: Any) -> bool:
        """Tell whether these are the features the spectrum was made of."""
        if isinstance(self.features, FeatureRows):
            return F is self.features or F is self.features.source
        return F is self.features or np.array_equal(F, self.features)


def gram_matrix(arrays: Arrays, F: Array, processes: Processes, block: int = READ_ROWS[1]) -> Array:
    """FᵀF of the rows of all processes, in float64: in float32 small eigenvalues would drown.

    Parameters
    ----------
    arrays
        NumPy or torch.
    F : array or FeatureRows (n, d_f)
        This process's rows.
    processes
        Those that have the others.
    block
        Rows that are read at a time.
    """
    gram: Any = 0.0
    for rows in row_blocks(len(F), block):
        part = arrays.cast(F[rows], "float64")
        gram = gram + part.T @ part
    return processes.sum(gram)
