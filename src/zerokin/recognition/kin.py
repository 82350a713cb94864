"""What the superclasses tell of an unseen class: where its seen kin lie beside their projections.

The projection of a seen class's semantics misses the mean of its pictures by some residual.
Classes of one superclass miss in similar directions. So each superclass gets an offset, learned
from the seen classes below it and added to the projections of all, unseen ones included. With
offsets drawn around zero with variance w_l on layer l and residuals observed with noise λ, the
best guess is

    P + K[:, S] (K[S, S] + λI)⁻¹ (M − P)[S]        K[c, d] = Σ_l w_l · [c and d share a node of l]

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
