"""Class vectors of the superclasses that a taxonomy puts classes into."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput, shown


def taxonomy_vectors(paths: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """Return a column per superclass: 1 for the classes below it, 0 for the others.

    The cosine of two classes then grows with the superclasses they share. Nothing is weighed by
    how many classes there are below a superclass: that would change with every class added.

    Parameters
    ----------
    paths : C paths
        The superclasses of each class from the top down, the class itself excluded. The same name
        below different superclasses is not the same superclass.

    Returns
    -------
    array of shape (C, number of superclasses)

    Examples
    --------
    >>> taxonomy_vectors([["animal", "bird"], ["animal", "fish"], ["plant"]])
    array([[1., 1., 0., 0.],
           [1., 0., 1., 0.],
           [0., 0., 0., 1.]])
    """
    if isinstance(paths, str) or not isinstance(paths, Sequence):
        raise InvalidInput(f"paths must be a list of paths: got {shown(paths)}")
    for row, given in enumerate(paths):
        if (
            isinstance(given, str)
            or not isinstance(given, Sequence)
            or not all(isinstance(step, str) for step in given)
        ):
            raise InvalidInput(
                f"the path of class {row} must be a list of superclass names: got {shown(given)}"
            )
    nodes = [[tuple(path[: depth + 1]) for depth in range(len(path))] for path in paths]
    columns = {node: k for k, node in enumerate(dict.fromkeys(n for path in nodes for n in path))}
    if not columns:
        raise InvalidInput("the taxonomy has no superclasses: give each class a path")
    vectors = np.zeros((len(paths), len(columns)))
    for row, path in enumerate(nodes):
        vectors[row, [columns[node] for node in path]] = 1
    return vectors
