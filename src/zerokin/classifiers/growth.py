"""A hierarchy with one more class, hung under the superclass that is most like it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from zerokin.hierarchy import ClassHierarchy


def grown_hierarchy(
    hierarchy: ClassHierarchy, name: str, vector: NDArray[np.float64]
) -> ClassHierarchy:
    """Return the hierarchy with a class added at the end.

    It joins the layer-1 superclass of the class most like it, whose ancestors become its own: no
    other class moves. A hierarchy without semantics cannot tell which class that is.

    Examples
    --------
    >>> tree = ClassHierarchy([[0, 0, 1]], names=["lynx", "puma", "wren"], semantics=np.eye(3))
    >>> grown_hierarchy(tree, "wolf", np.array([0.1, 0.9, 0.0])).labels(1)
    array([0, 0, 1, 0])
    """
    classes = hierarchy.prototypes(0)
    lengths = np.linalg.norm(classes, axis=1) * np.linalg.norm(vector)
    nearest = int(np.argmax(classes @ vector / lengths))
    layers = [
        np.append(hierarchy.labels(layer), hierarchy.labels(layer)[nearest])
        for layer in range(1, hierarchy.n_layers + 1)
    ]
    return hierarchy.replace(
        layers=layers,
        names=[*hierarchy.names, name],
        semantics=np.concatenate([classes, vector[None]]),
    )
