"""Matrices from features to semantics, written in the space that seen semantics span."""

from __future__ import annotations

from typing import NamedTuple

from zerokin.benchmark.peers.distances import cosines
from zerokin.benchmark.peers.training_set import Array
from zerokin.features.scaler import unit_length


class SemanticMap(NamedTuple):
    """A matrix W (d_f, d_z) = A Bᵀ whose rows lie in the row space of the seen semantics.

    What is fitted to seen semantics never leaves their row space. With B an orthonormal basis of
    it, products cost r columns in the place of d_z: often a third.

    Examples
    --------
    >>> import numpy as np
    >>> W = SemanticMap(np.array([[2.0], [1.0]]), np.array([[0.6], [0.8]]))
    >>> W.whole
    array([[1.2, 1.6],
           [0.6, 0.8]])
    >>> W.bilinear(np.eye(2), np.array([[1.0, 1.0]]))
    array([[2.8],
           [1.4]])
    """

    A: Array
    """(d_f, r) coordinates"""
    B: Array
    """(d_z, r) orthonormal columns, of `TrainingSet.row_space`"""

    @property
    def whole(self) -> Array:
        """W (d_f, d_z) itself."""
        W: Array = self.A @ self.B.T
        return W

    def bilinear(self, F: Array, Z: Array) -> Array:
        """Return F W Zᵀ, (n, C), of features (n, d_f) and semantics (C, d_z)."""
        scores: Array = F @ self.A @ (Z @ self.B).T
        return scores

    def cosines_of_semantics(self, F: Array, Z: Array) -> Array:
        """Return the cosines (n, C) of features mapped to semantics, F W, with semantics Z."""
        return unit_length(F @ self.A) @ (unit_length(Z) @ self.B).T

    def cosines_of_features(self, F: Array, Z: Array) -> Array:
        """Return the cosines (n, C) of features F with semantics mapped to features, Z Wᵀ."""
        return cosines(F, Z @ self.B @ self.A.T)
