"""Class prototypes in feature space: projected semantics, corrected by residuals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.class_kernel import ClassKernel
from zerokin.classifiers.residual_correction import length_factor, weigh_residuals
from zerokin.features.scaler import unit_length

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PrototypeRule:
    """How semantics become prototypes, learned from the seen classes.

    Parameters
    ----------
    projection
        (d_f, d_z) W, scaled to the length of the seen means unless ``unit`` says otherwise.
    residuals
        (p, d_f) regression weights of the seen residuals, or None without correction.
    unit
        Prototypes have unit length, for cosines. Otherwise they are as long as projections are,
        for Euclidean distances: as W has them where nothing is corrected, as in the paper.
    """

    projection: Matrix
    residuals: Matrix | None
    unit: bool = True

    @classmethod
    def learn(
        cls,
        W: NDArray[Any],
        semantics: Matrix,
        means: Matrix,
        kernel: Matrix | None,
        *,
        noise: float,
        unit: bool = True,
    ) -> PrototypeRule:
        """Learn from W (d_f, d_z) and the seen classes' semantics (p, d_z) and means (p, d_f).

        ``kernel`` is the covariance (p, p) of the seen classes, or None for projections alone.
        """
        projected = semantics @ W.T
        as_learned = kernel is None and not unit
        factor = 1.0 if as_learned else length_factor(projected, means)
        scaled = np.asarray(W, dtype=np.float64) * factor
        if kernel is None:
            return cls(scaled, None, unit)
        weights = weigh_residuals(projected * factor, means, kernel, noise=noise)
        return cls(scaled, weights, unit)

    def prototypes(self, semantics: Matrix, kernel: Matrix | ClassKernel | None) -> Matrix:
        """Return prototypes (n, d_f) by semantics (n, d_z) and covariances (n, p)."""
        projected: Matrix = semantics @ self.projection.T
        if self.residuals is not None and kernel is not None:
            projected = projected + kernel @ self.residuals
        return unit_length(projected) if self.unit else projected
