"""Class prototypes in feature space: projected semantics, moved by what their kin tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.kin import kin_residuals, length_factor
from zerokin.features.normaliser import unit_length

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PrototypeRule:
    """How semantics become prototypes, learned from the seen classes.

    Parameters
    ----------
    projection
        (d_f, d_z) W, scaled to the length of the seen means.
    residuals
        (p, d_f) what each seen class passes on to its kin, or None without kin.
    """

    projection: Matrix
    residuals: Matrix | None

    @classmethod
    def learn(
        cls,
        W: NDArray[Any],
        semantics: Matrix,
        means: Matrix,
        kin: Matrix | None,
        *,
        shrinkage: float,
    ) -> PrototypeRule:
        """Learn from W (d_f, d_z) and the seen classes' semantics (p, d_z) and means (p, d_f).

        ``kin`` is the kinship (p, p) of the seen classes, or None for projections alone.
        """
        projected = semantics @ W.T
        factor = length_factor(projected, means)
        scaled = np.asarray(W, dtype=np.float64) * factor
        if kin is None:
            return cls(scaled, None)
        return cls(scaled, kin_residuals(projected * factor, means, kin, shrinkage=shrinkage))

    def prototypes(self, semantics: Matrix, kin: Matrix | None) -> Matrix:
        """Return unit prototypes (n, d_f) of classes by semantics (n, d_z) and kinship (n, p)."""
        projected = semantics @ self.projection.T
        if self.residuals is not None and kin is not None:
            projected = projected + kin @ self.residuals
        unit: Matrix = unit_length(projected)
        return unit
