"""Superclasses by clustering: every layer groups the vectors of the layer below."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from zerokin.compute.threads import limited_threads
from zerokin.errors import InvalidInput, did_you_mean
from zerokin.hierarchy.canonical import canonical_order, mean_vectors, numbered_by_first

Method = Literal["kmeans", "agglomerative"]
STARTS, MANY = 10, 5_000
"""Starts of k-means, and the most points for which there are so many."""
METHODS: tuple[Method, ...] = ("kmeans", "agglomerative")


def cluster_layers(
    semantics: NDArray[np.float64],
    sizes: Sequence[int],
    *,
    random_state: int = 0,
    names: Sequence[str] | None = None,
    method: Method = "kmeans",
) -> list[NDArray[np.int64]]:
    """Cluster classes into superclasses, those into larger ones, and so on.

    Layer 1 clusters the class vectors, every further layer the vectors of the layer below; a
    node's vector is the mean of the *classes* under it.

    Parameters
    ----------
    semantics
        Class vectors Z (C, d_z).
    sizes
        r_1 > r_2 > …, the nodes of every layer.
    random_state
        Seed of k-means.
    names
        Class names, which order classes with equal vectors; without them such classes keep the
        order of their rows.
    method
        ``"kmeans"`` (the best of ten starts; one start for more than 5,000 points) or
        ``"agglomerative"`` (Ward).

    Returns
    -------
    list of ndarray of int, each (C,)
        Node of each class at layers 1, 2, …; exactly r_l nodes, none empty, numbered by their
        first class in canonical order.

    Examples
    --------
    >>> Z = np.array([[0.0], [9.0], [0.1], [9.2], [0.3], [5.0]])
    >>> cluster_layers(Z, [3, 2])
    [array([0, 2, 0, 2, 0, 1]), array([0, 1, 0, 1, 0, 1])]
    """
    if method not in METHODS:
        raise InvalidInput(
            f"unknown clustering method {method!r}{did_you_mean(str(method), METHODS)} "
            f"(known: {', '.join(METHODS)})"
        )
    order = canonical_order(len(semantics), semantics=semantics, names=names)
    listed = np.arange(len(semantics), dtype=np.int64)
    # Everything below sees the classes in canonical order only.
    Z = semantics[order]
    random = np.random.RandomState(random_state)
    layers: list[NDArray[np.int64]] = []
    labels, vectors = listed, Z
    for size in sizes:
        labels = numbered_by_first(partition(vectors, size, random, method)[labels], listed)
        vectors = mean_vectors(Z, labels, listed)
        as_given = np.empty_like(labels)
        as_given[order] = labels
        layers.append(as_given)
    return layers


def partition(
    points: NDArray[np.float64], k: int, random: np.random.RandomState, method: Method
) -> NDArray[np.int64]:
    """Split points into exactly k non-empty groups.

    Points that are equal stay together as long as there are k distinct ones.

    Parameters
    ----------
    points
        Vectors (n, d), n ≥ k.
    k
        How many groups.
    random
        Source of k-means' starts.
    method
        ``"kmeans"`` or ``"agglomerative"``.

    Returns
    -------
    ndarray of int, (n,)
        Group of each point, 0 … k - 1.
    """
    distinct, group, count = np.unique(points, axis=0, return_inverse=True, return_counts=True)
    group = group.reshape(-1).astype(np.int64)  # numpy 2.0 kept an axis here
    if k >= len(distinct):
        return _split_equal(group, k)
    # Clusters do not depend on scale; a power of two changes no digit and keeps squares finite.
    distinct = np.ldexp(distinct, -int(np.frexp(np.abs(distinct).max())[1]))
    labels = (
        _kmeans(distinct, count, k, random)
        if method == "kmeans"
        else _ward(np.ascontiguousarray(distinct[group]), k)[np.unique(group, return_index=True)[1]]
    )
    return _fill_empty(distinct, labels, k)[group]


def _kmeans(
    points: NDArray[np.float64],
    weight: NDArray[np.int64],
    k: int,
    random: np.random.RandomState,
) -> NDArray[np.int64]:
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    # Threads add up partial sums in whatever order they finish: one thread repeats exactly.
    with limited_threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer than k: filled by the caller
        starts = STARTS if len(points) <= MANY else 1
        fitted = KMeans(k, n_init=starts, random_state=random).fit(points, sample_weight=weight)
    return np.asarray(fitted.labels_, dtype=np.int64)


def _ward(points: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    from sklearn.cluster import AgglomerativeClustering

    with limited_threads(1):
        fitted = AgglomerativeClustering(k, linkage="ward").fit(points)
    return np.asarray(fitted.labels_, dtype=np.int64)


def _split_equal(group: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Halve the largest group of equal points, the first of them, until there are k groups."""
    group = group.copy()
    for new in range(int(group.max()) + 1, k):
        members = np.flatnonzero(group == np.bincount(group).argmax())
        group[members[(len(members) + 1) // 2 :]] = new
    return group


def _fill_empty(
    points: NDArray[np.float64], labels: NDArray[np.int64], k: int
) -> NDArray[np.int64]:
    """Make up for clusters that came out empty with the points farthest from their centers."""
    labels = np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.int64)
    everyone = np.arange(len(points), dtype=np.int64)
    for new in range(int(labels.max()) + 1, k):
        centers = mean_vectors(points, labels, everyone)
        distance = np.square(points - centers[labels]).sum(axis=1)
        distance[np.bincount(labels)[labels] == 1] = -1.0
        labels[distance.argmax()] = new
    return labels
