"""What its kin tell of an unseen class: where seen classes lie beside their projections.

The projection of a seen class's semantics misses the mean of its pictures by some residual.
Classes of one superclass miss in similar directions, and so do classes of similar semantics. So
each superclass gets an offset, learned from the seen classes below it and added to the projections
of all, unseen ones included, and a smooth function of the semantics is learned beside. With
offsets drawn around zero with variance w_l on layer l, a Gaussian process of variance ω over
semantics, and residuals observed with noise λ, the best guess is

    P + K[:, S] (K[S, S] + λI)⁻¹ (M − P)[S]
    K[c, d] = Σ_l w_l · [c and d share a node of l] + ω exp(−‖z_c − z_d‖² / width)

for projections P, means M of the seen classes S, and w_l = decay^(l−1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from zerokin.hierarchy import ClassHierarchy

Matrix = NDArray[np.float64]


def kinship(hierarchy: ClassHierarchy, *, decay: float) -> Matrix:
    """Return how much superclass two classes share: K (C, C), each layer worth ``decay`` as much.

    Examples
    --------
    >>> tree = ClassHierarchy([[0, 0, 1, 2], [0, 0, 0, 1]])
    >>> kinship(tree, decay=0.5)
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


def semantic_kinship(Z: Matrix, seen: Matrix, *, width: float) -> Matrix:
    """Return exp(−‖z − s‖² / (width · m)) of classes (C, d_z) with the seen ones (p, d_z).

    m is the median squared distance of seen classes, so that a width means the same for
    any semantics.

    Examples
    --------
    >>> Z = np.array([[0.0], [2.0], [4.0]])
    >>> semantic_kinship(Z, Z, width=1.0).round(3)      # the median squared distance is 4
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


def kin_residuals(projected: Matrix, means: Matrix, kin: Matrix, *, shrinkage: float) -> Matrix:
    """Return what each seen class passes on to its kin: (K + λI)⁻¹ (M − P), (p, d).

    A class's offset is the sum of these, weighted by its kinship with each seen class.

    Parameters
    ----------
    projected
        (p, d) projections P of the seen classes' semantics.
    means
        (p, d) means M of the seen classes' samples.
    kin
        (p, p) kinship K of the seen classes.
    shrinkage
        λ: the larger, the nearer to no offsets at all.
    """
    noisy = kin + shrinkage * np.eye(len(kin))
    return np.asarray(np.linalg.solve(noisy, means - projected), dtype=np.float64)


def length_factor(projected: Matrix, means: Matrix) -> float:
    """Return the factor that brings projections (p, d) of seen classes nearest to their means.

    A regularised projection is too short, so that residuals would mostly point along it.
    """
    size = np.sum(projected**2)
    return float(np.sum(projected * means) / size) if size > 0 else 1.0
