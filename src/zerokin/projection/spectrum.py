"""What every fit over the same features shares: FᵀF factored once, and the graph."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from zerokin.matrices import finite_matrix, refuse_too_large
from zerokin.parameters import DEVICE, OneOf, Optional, Ranges, check_arguments
from zerokin.projection.arrays import DTYPES, Array, arrays_for, row_blocks
from zerokin.projection.graph import (
    EdgeWeights,
    check_graph_options,
    neighbor_graph,
    normalized_laplacian,
)


class FeatureSpectrum:
    """Features with the eigenvectors of FᵀF and Laplacians of their neighbor graphs.

    Both are the same for every layer of a hierarchy, every iteration and every (α, β, ε, γ):
    make one spectrum and give it to all the fits.

    Parameters
    ----------
    F : array (N, d_f)
        Features of the training samples. Not copied where it already has the type and device.
    device
        ``"cpu"`` (NumPy) or a torch device such as ``"cuda"``.
    dtype
        ``"float32"`` or ``"float64"`` for arrays with a row per sample; as F's by default.
        Matrices without samples (FᵀF, EᵀE, W) are float64 always.

    Attributes
    ----------
    eigenvalues : array (d,)
        Of FᵀF, ascending. d is d_f, or N if that is smaller.
    eigenvectors : array (d, d)
    total : float
        ‖F‖².

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
    }

    def __init__(self, F: np.ndarray, *, device: str = "cpu", dtype: str | None = None) -> None:
        check_arguments(self._parameter_ranges, device=device, dtype=dtype)
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
        self._rows: Array | None = None
        if n < d_f:
            # F = RᵀQᵀ: fewer samples than features span only N directions, and W stays in
            # their span, so the N × N factor takes the place of F and Q maps W back.
            wide = self.arrays.put(self.features, "float64").T
            self._rows, triangle = self.arrays.xp.linalg.qr(wide)
            self.F: Array = self.arrays.contiguous(self.arrays.cast(triangle.T, dtype))
        else:
            self.F = self.arrays.put(self.features, dtype)
        gram = self._gram()
        self.total = float(gram.diagonal().sum())
        eigenvalues, self.eigenvectors = self.arrays.xp.linalg.eigh(gram)
        self.eigenvalues = eigenvalues.clip(0)  # FᵀF has none below 0 but by rounding

    def _gram(self) -> Array:
        """FᵀF in float64: in float32 its small eigenvalues would drown in rounding."""
        gram = 0.0
        for rows in row_blocks(len(self.F)):
            part = self.arrays.cast(self.F[rows], "float64")
            gram = gram + part.T @ part
        return gram

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
            graph = neighbor_graph(self.features, n_neighbors, weights=weights, device=self.device)
            self._laplacians[key] = normalized_laplacian(graph)
        return self._laplacians[key]

    def holds(self, F: np.ndarray) -> bool:
        """Tell whether these are the features the spectrum was made of."""
        return F is self.features or np.array_equal(F, self.features)
