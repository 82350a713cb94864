"""The paper's rule: from the top layer down, only classes under the best superclasses survive."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from zerokin.hierarchy import ClassHierarchy

PRUNED = 1000.0
"""What ruled-out classes score less at least: cosines and penalties differ by about 200 at most."""


def surviving_classes(
    layer_scores: Sequence[NDArray[np.floating]],
    hierarchy: ClassHierarchy,
    candidates: NDArray[np.int64],
    *,
    keep: int = 3,
) -> NDArray[np.bool_]:
    """Return which candidates are left for every sample, (N, len(candidates)).

    From the top layer down, a node is considered if it has a candidate below it and its parent
    survived; the ``keep`` best of these survive.

    Parameters
    ----------
    layer_scores
        Scores (N, r_l) of the nodes of layers 1, 2, …, n.
    hierarchy
        The superclasses.
    candidates
        Positions of the candidate classes.
    keep
        How many nodes survive on each layer.

    Examples
    --------
    >>> tree = ClassHierarchy([[0, 0, 1, 2]])
    >>> scores = [np.array([[0.1, 0.9, 0.3]])]
    >>> surviving_classes(scores, tree, np.array([0, 2, 3]), keep=2)
    array([[False,  True,  True]])
    """
    n_samples = len(layer_scores[0])
    alive = np.ones((n_samples, 1), dtype=bool)
    parents = np.zeros(hierarchy.sizes[-1], dtype=np.int64)
    for layer in range(hierarchy.n_layers, 0, -1):
        considered = np.zeros(hierarchy.sizes[layer - 1], dtype=bool)
        considered[hierarchy.labels(layer)[candidates]] = True
        allowed = alive[:, parents] & considered
        scores = np.where(allowed, layer_scores[layer - 1], -np.inf)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :keep]
        alive = np.zeros_like(allowed)
        np.put_along_axis(alive, best, True, axis=1)
        alive &= allowed
        parents = hierarchy.parents(layer - 1)
    return alive[:, parents[candidates]]


def lower_pruned(scores: NDArray[np.float64], alive: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return finite scores (n, k) in which every class ruled out is below all that are left.

    Minus infinity would make differences of scores no numbers; those ruled out keep their order.
    Squared distances may differ by more than `PRUNED`: twice a sample's range is more in any case.

    Examples
    --------
    >>> lower_pruned(np.array([[0.9, 0.2]]), np.array([[False, True]]))
    array([[-9.991e+02,  2.000e-01]])
    """
    drop = np.maximum(PRUNED, 2 * np.ptp(scores, axis=1, keepdims=True))
    return np.where(alive, scores, scores - drop)
