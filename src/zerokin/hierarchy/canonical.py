"""An order of classes that does not depend on how they were listed, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def canonical_order(
    n_classes: int,
    *,
    semantics: NDArray[np.float64] | None = None,
    names: Sequence[str] | None = None,
) -> NDArray[np.int64]:
    """Return the classes sorted by vector, then by name, then as listed.

    Parameters
    ----------
    n_classes
        C.
    semantics
        Class vectors (C, d_z), compared number by number from the left.
    names
        Class names, C of them.

    Returns
    -------
    ndarray of int, (C,)
        Class indices in canonical order.

    Examples
    --------
    >>> canonical_order(3, semantics=np.array([[2.0], [1.0], [1.0]]), names=["a", "c", "b"])
    array([2, 1, 0])
    """
    keys: list[NDArray[np.generic]] = [np.arange(n_classes)]
    if names is not None:
        rank = np.empty(n_classes, dtype=np.int64)
        rank[sorted(range(n_classes), key=names.__getitem__)] = np.arange(n_classes)
        keys.append(rank)
    if semantics is not None:
        keys.extend(semantics.T[::-1])
    return np.lexsort(keys).astype(np.int64)


def numbered_by_first(labels: NDArray[np.int64], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Renumber groups in the order in which their first members appear.

    Parameters
    ----------
    labels
        Group of each item (n,); any integers.
    order
        All items (n,), in the order that numbers the groups.

    Returns
    -------
    ndarray of int, (n,)
        The same groups, numbered 0, 1, ….

    Examples
    --------
    >>> numbered_by_first(np.array([7, 3, 7]), np.array([1, 0, 2]))
    array([1, 0, 1])
    """
    _, first, group = np.unique(labels[order], return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    renumbered = np.empty(len(labels), dtype=np.int64)
    renumbered[order] = number[group]
    return renumbered


def in_order_of_first(
    node_names: Sequence[str], labels: NDArray[np.int64], order: NDArray[np.int64]
) -> list[str]:
    """Return node names as `numbered_by_first` numbers the nodes; nodes without classes drop out.

    Examples
    --------
    >>> in_order_of_first(["cat", "dog", "bird"], np.array([2, 0, 2]), np.array([1, 0, 2]))
    ['cat', 'bird']
    """
    return [node_names[node] for node in dict.fromkeys(labels[order].tolist())]


def mean_vectors(
    semantics: NDArray[np.float64], labels: NDArray[np.int64], order: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the mean vector of the classes of every node.

    Sums run in the order given, because floating-point sums depend on it: with a canonical order
    the means are the same bit for bit however the classes were listed.

    Parameters
    ----------
    semantics
        Class vectors (C, d_z).
    labels
        Node of each class (C,), 0 … r - 1.
    order
        All classes (C,), in the order in which they are added up.

    Returns
    -------
    ndarray of float, (r, d_z)

    Examples
    --------
    >>> mean_vectors(np.array([[0.0], [4.0], [2.0]]), np.array([0, 1, 0]), np.arange(3))
    array([[1.],
           [4.]])
    """
    sums = np.zeros((int(labels.max()) + 1, semantics.shape[1]))
    np.add.at(sums, labels[order], semantics[order])
    return sums / np.bincount(labels)[:, None]
