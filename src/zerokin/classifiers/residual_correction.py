"""Residual correction: Gaussian-process regression of where classes lie beside their projections.

The projection P of a seen class's semantics misses the mean M of its samples by a residual.
Classes of one superclass miss in similar directions, and so do classes of similar semantics. So
the residuals of seen classes S are regressed on the classes: the prior covariance K of two
classes has a term of variance w_l for every superclass layer l on which they share a node, and a
squared-exponential term of variance ω over semantics; residuals are observed with noise variance
λ. The posterior mean, added to the projections of all classes, unseen ones included, is

    P + K[:, S] (K[S, S] + λI)⁻¹ (M − P)[S]
    K[c, d] = Σ_l w_l · [c and d share a node of l] + ω exp(−‖z_c − z_d‖² / width)

with w_l = decay^(l−1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from zerokin.hierarchy import ClassHierarchy

Matrix = NDArray[np.float64]


def superclass_kernel(hierarchy: ClassHierarchy, *, decay: float) -> Matrix:
    """Return the covariance of classes by shared superclasses, (C, C); layer l has decay^(l−1).

    Examples
    --------
    >>> tree = ClassHierarchy([[0, 0, 1, 2], [0, 0, 0, 1]])
    >>> superclass_kernel(tree, decay=0.5)
    array([[1.5, 1.5, 0.5, 0. ],
           [1.5, 1.5, 0.5, 0. ],
           [0.5, 0.5, 1.5, 0. ],
           [0. , 0. , 0. , 1.5]])
    """
    total = np.zeros((hierarchy.n_classes, hierarchy.n_classes))
    for layer in range(1, hierarchy.n_layers + 1):
        nodes = hierarchy.labels(layer)
        total += decay ** (layer - 1) * (nodes[:, None] == nodes[None, :])
    return total


def semantic_kernel(Z: Matrix, seen: Matrix, *, width: float) -> Matrix:
    """Return the squared-exponential kernel of classes (C, d_z) with the seen ones (p, d_z).

    It is exp(−‖z − s‖² / (width · m)). m is the median squared distance of seen classes, so that a
    width means the same for any semantics.

    Examples
    --------
    >>> Z = np.array([[0.0], [2.0], [4.0]])
    >>> semantic_kernel(Z, Z, width=1.0).round(3)      # the median squared distance is 4
    array([[1.   , 0.368, 0.018],
           [0.368, 1.   , 0.368],
           [0.018, 0.368, 1.   ]])
    """
    among = _squared_distances(seen, seen)[np.triu_indices(len(seen), k=1)]
    scale = width * np.median(among) if len(among) and np.median(among) > 0 else width
    with np.errstate(over="ignore"):  # farther than a float can say is infinitely far
        near: Matrix = np.exp(-_squared_distances(Z, seen) / max(scale, np.finfo(np.float64).tiny))
    return near


def _squared_distances(one: Matrix, other: Matrix) -> Matrix:
    squares: Matrix = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1) - 2 * one @ other.T
    return squares.clip(min=0)


def weigh_residuals(projected: Matrix, means: Matrix, kernel: Matrix, *, noise: float) -> Matrix:
    """Return the regression weights of the seen classes: (K + λI)⁻¹ (M − P), (p, d).

    A class's correction is the sum of these, weighted by its covariance with each seen class.

    Parameters
    ----------
    projected
        (p, d) projections P of the seen classes' semantics.
    means
        (p, d) means M of the seen classes' samples.
    kernel
        (p, p) covariance K of the seen classes.
    noise
        λ: the larger, the nearer to no correction at all.
    """
    noisy = kernel + noise * np.eye(len(kernel))
    return np.asarray(np.linalg.solve(noisy, means - projected), dtype=np.float64)


def length_factor(projected: Matrix, means: Matrix) -> float:
    """Return the factor that brings projections (p, d) of seen classes nearest to their means.

    A regularized projection is too short, so that residuals would mostly point along it.
    """
    size = np.sum(projected**2)
    return float(np.sum(projected * means) / size) if size > 0 else 1.0
