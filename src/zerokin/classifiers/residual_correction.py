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

from collections.abc import Iterator

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from zerokin.hierarchy import ClassHierarchy

Matrix = NDArray[np.float64]
Index = NDArray[np.int64]
EVERY = slice(None)
MANY = 4_000
"""Seen classes beyond which no array of all their pairs is made but the kernel itself."""
BLOCK_BYTES = 2**28
BINS = 2**16


def superclass_kernel(
    hierarchy: ClassHierarchy,
    *,
    decay: float,
    rows: Index | slice = EVERY,
    columns: Index | slice = EVERY,
) -> Matrix:
    """Return the covariance of classes by shared superclasses, (C, C); layer l has decay^(l−1).

    Parameters
    ----------
    hierarchy
        Superclasses.
    decay
        Variance of a layer relative to the one below.
    rows, columns
        Classes to relate with which; all by default.

    Examples
    --------
    >>> tree = ClassHierarchy([[0, 0, 1, 2], [0, 0, 0, 1]])
    >>> superclass_kernel(tree, decay=0.5)
    array([[1.5, 1.5, 0.5, 0. ],
           [1.5, 1.5, 0.5, 0. ],
           [0.5, 0.5, 1.5, 0. ],
           [0. , 0. , 0. , 1.5]])
    """
    everyone = np.arange(hierarchy.n_classes)
    total = np.zeros((len(everyone[rows]), len(everyone[columns])))
    for layer in range(1, hierarchy.n_layers + 1):
        nodes = hierarchy.labels(layer)
        total += decay ** (layer - 1) * (nodes[rows, None] == nodes[None, columns])
    return total


def semantic_kernel(
    Z: Matrix, seen: Matrix, *, width: float, median: float | None = None
) -> Matrix:
    """Return the squared-exponential kernel of classes (C, d_z) with the seen ones (p, d_z).

    It is exp(−‖z − s‖² / (width · m)). m is the median squared distance of seen classes, so that a
    width means the same for any semantics.

    Parameters
    ----------
    Z, seen
        Vectors of all classes, and of the seen ones.
    width
        Squared length scale, in units of m.
    median
        m, where it is known already: see `median_squared_distance`.

    Examples
    --------
    >>> Z = np.array([[0.0], [2.0], [4.0]])
    >>> semantic_kernel(Z, Z, width=1.0).round(3)      # the median squared distance is 4
    array([[1.   , 0.368, 0.018],
           [0.368, 1.   , 0.368],
           [0.018, 0.368, 1.   ]])
    """
    if median is None:
        median = median_squared_distance(seen)
    scale = width * median if median > 0 else width
    with np.errstate(over="ignore"):  # farther than a float can say is infinitely far
        near: Matrix = np.exp(-_squared_distances(Z, seen) / max(scale, np.finfo(np.float64).tiny))
    return near


def median_squared_distance(vectors: Matrix, *, many: int = MANY) -> float:
    """Return the median squared distance of pairs of vectors (p, d_z); 0 without any pair.

    Of more than ``many`` vectors, no array of all pairs is made: a first pass over blocks of rows
    counts distances in bins, a second one sorts those of the median's bin.
    """
    if len(vectors) <= many:
        among = _squared_distances(vectors, vectors)[np.triu_indices(len(vectors), k=1)]
        return float(np.median(among)) if len(among) else 0.0
    bound = 4 * float((vectors**2).sum(axis=1).max()) * (1 + 1e-9) or 1.0
    counts = np.zeros(BINS, np.int64)
    for among in _pair_blocks(vectors):
        counts += np.histogram(among, BINS, (0.0, bound))[0]
    pairs = int(counts.sum())
    ranks = ((pairs - 1) // 2, pairs // 2)
    before = np.cumsum(counts) - counts
    first, last = (int(np.searchsorted(before, rank, side="right")) - 1 for rank in ranks)
    edges = np.linspace(0.0, bound, BINS + 1)
    # A bin more on either side: a distance on an edge may be rounded into either bin.
    low, high = edges[max(0, first - 1)], edges[min(BINS, last + 2)]
    within, below = [], 0
    for among in _pair_blocks(vectors):
        below += int((among < low).sum())
        within.append(among[(among >= low) & (among <= high)])
    middle = np.sort(np.concatenate(within))
    return float(np.mean([middle[rank - below] for rank in ranks]))


def _pair_blocks(vectors: Matrix) -> Iterator[Matrix]:
    """Yield the squared distances of all pairs of vectors, some rows at a time."""
    step = max(1, BLOCK_BYTES // (32 * len(vectors)))
    for start in range(0, len(vectors), step):
        rows = vectors[start : start + step]
        distances = _squared_distances(rows, vectors[start:])
        yield distances[np.triu_indices(len(rows), k=1, m=distances.shape[1])]


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
    noisy = np.array(kernel)
    noisy.flat[:: len(noisy) + 1] += noise
    if len(noisy) <= MANY:
        return np.asarray(np.linalg.solve(noisy, means - projected), dtype=np.float64)
    # Half the work, and no second copy; a covariance with noise is positive definite.
    factor = scipy.linalg.cho_factor(noisy.T, lower=True, overwrite_a=True, check_finite=False)
    weights = scipy.linalg.cho_solve(factor, means - projected, check_finite=False)
    return np.asarray(weights, dtype=np.float64)


def length_factor(projected: Matrix, means: Matrix) -> float:
    """Return the factor that brings projections (p, d) of seen classes nearest to their means.

    A regularized projection is too short, so that residuals would mostly point along it.
    """
    size = np.sum(projected**2)
    return float(np.sum(projected * means) / size) if size > 0 else 1.0
