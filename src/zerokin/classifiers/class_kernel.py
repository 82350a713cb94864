"""The kernel of related classes where it is too large to be held: computed by blocks of rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.residual_correction import (
    BLOCK_BYTES,
    median_squared_distance,
    semantic_kernel,
    superclass_kernel,
)
from zerokin.hierarchy import ClassHierarchy

Matrix = NDArray[np.float64]
Index = NDArray[np.int64]
DENSE_BYTES = 2**30
"""Size of the kernel (C, p) from which it is not held as a whole."""


class ClassKernel:
    """Covariances of all classes with the seen ones (C, p), of which rows are computed when needed.

    Parameters
    ----------
    semantics
        (C, d_z) class vectors.
    seen
        (p,) positions of the seen classes.
    hierarchy
        Superclasses, if there are any.
    decay, semantic_weight, width
        Of `zerokin.classifiers.stages.relate_classes`.
    median
        Of the squared distances of seen classes, where it is known already.
    """

    def __init__(
        self,
        semantics: Matrix,
        seen: Index,
        hierarchy: ClassHierarchy | None,
        *,
        decay: float,
        semantic_weight: float,
        width: float,
        median: float | None = None,
    ) -> None:
        self.semantics, self.seen, self.hierarchy = semantics, seen, hierarchy
        self.decay, self.semantic_weight, self.width = decay, semantic_weight, width
        self._known = semantics[seen]
        self.median = median_squared_distance(self._known) if median is None else median

    def __len__(self) -> int:
        return len(self.semantics)

    def __getitem__(self, rows: Index | slice) -> Matrix:
        """Return some rows, (n, p)."""
        kernel = np.empty((len(self.semantics[rows]), len(self.seen)))
        everyone = np.arange(len(self))[rows]
        step = self._step()
        for start in range(0, len(everyone), step):
            part = everyone[start : start + step]
            block = kernel[start : start + step]
            block[:] = semantic_kernel(
                self.semantics[part], self._known, width=self.width, median=self.median
            )
            block *= self.semantic_weight
            if self.hierarchy is not None:
                block += superclass_kernel(
                    self.hierarchy, decay=self.decay, rows=part, columns=self.seen
                )
        return kernel

    def __matmul__(self, weights: Matrix) -> Matrix:
        """Multiply by a matrix (p, d), some rows at a time."""
        product = np.empty((len(self), weights.shape[1]))
        step = self._step()
        for start in range(0, len(self), step):
            product[start : start + step] = self[start : start + step] @ weights
        return product

    def _step(self) -> int:
        return max(1, BLOCK_BYTES // (8 * len(self.seen)))


def is_large(classes: int, seen: int) -> bool:
    """Tell whether the kernel of so many classes is better computed by blocks."""
    return 8 * classes * seen > DENSE_BYTES
