"""Superclasses by clustering: sizes, order of classes, seeds, duplicates."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from zerokin.errors import InvalidInput
from zerokin.hierarchy import ClassHierarchy, clustering, layer_sizes


def groups(labels: NDArray[np.int64]) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(labels == node).tolist()) for node in set(labels.tolist())}


def vectors(n: int, d: int, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize(
    ("n_classes", "t", "method"),
    [
        *((c, t, "kmeans") for c in (50, 200, 717, 1360) for t in range(2, 9) if c >= t * t),
        *((c, t, "agglomerative") for c in (50, 200, 717) for t in (2, 3, 7)),
    ],
)
def test_built_hierarchies_have_the_sizes_of_the_rule(n_classes: int, t: int, method: str) -> None:
    tree = ClassHierarchy.from_semantics(vectors(n_classes, 3), t, method=method)
    assert tree.sizes == layer_sizes(n_classes, t)
    for layer, size in enumerate(tree.sizes, start=1):
        assert set(tree.labels(layer).tolist()) == set(range(size))
    for layer in range(1, tree.n_layers):
        above = {(a, b) for a, b in zip(tree.labels(layer), tree.labels(layer + 1), strict=True)}
        assert len(above) == tree.sizes[layer - 1]  # every node has exactly one parent


def test_separate_clumps_are_found() -> None:
    rng = np.random.default_rng(1)
    clump = np.repeat(np.arange(5), 4)
    Z = 100.0 * np.eye(5)[clump] + rng.normal(size=(20, 5))
    for method in ("kmeans", "agglomerative"):
        tree = ClassHierarchy.from_semantics(Z, 4, method=method)
        assert tree.sizes == [5]
        assert groups(tree.labels(1)) == groups(clump)


def test_upper_layers_cluster_class_means_not_means_of_means() -> None:
    # The two groups at the left have three classes at 0 and one at 8: their node's vector is the
    # mean of its classes, 2, whereas the mean of the two lower nodes would be 4.
    Z = np.array([[0.0], [0.0], [0.0], [8.0], [100.0], [100.0], [100.0], [108.0]])
    tree = ClassHierarchy.from_semantics(Z, 2)
    assert tree.sizes == [4, 2]
    np.testing.assert_array_equal(tree.prototypes(2), [[2.0], [102.0]])


def ward_by_hand(Z: NDArray[np.float64], k: int) -> set[frozenset[int]]:
    """Merge the pair that raises the within-group sum of squares least, until k are left."""

    def scatter(members: frozenset[int]) -> float:
        chosen = Z[sorted(members)]
        return float(((chosen - chosen.mean(axis=0)) ** 2).sum())

    found = {frozenset([i]) for i in range(len(Z))}
    while len(found) > k:
        one, other = min(
            combinations(sorted(found, key=sorted), 2),
            key=lambda pair: scatter(pair[0] | pair[1]) - scatter(pair[0]) - scatter(pair[1]),
        )
        found = (found - {one, other}) | {one | other}
    return found


@pytest.mark.parametrize("seed", range(3))
def test_agglomerative_is_ward(seed: int) -> None:
    Z = vectors(16, 3, seed)
    tree = ClassHierarchy.from_semantics(Z, 2, method="agglomerative")
    assert groups(tree.labels(1)) == ward_by_hand(Z, 8)
    upper = ward_by_hand(tree.prototypes(1), 4)
    assert groups(tree.labels(2)) == {
        frozenset(i for node in nodes for i in tree.members(1, node).tolist()) for nodes in upper
    }


def test_kmeans_cannot_be_bettered_by_moving_one_class() -> None:
    Z = vectors(60, 4)
    tree = ClassHierarchy.from_semantics(Z, 6)
    distance = ((Z[:, None] - tree.prototypes(1)[None]) ** 2).sum(axis=2)
    assert (distance.argmin(axis=1) == tree.labels(1)).all()


# Few distinct values, so that equal numbers and equal rows occur.
@st.composite
def lists_of_classes(draw: st.DrawFn) -> tuple[NDArray[np.float64], int, int, list[int]]:
    n = draw(st.integers(4, 24))
    t = draw(st.integers(2, max(2, int(n**0.5))))
    row = st.lists(st.sampled_from([-1.5, -0.1, 0.0, -0.0, 0.1, 0.3, 7.0]), min_size=2, max_size=2)
    Z = np.array(draw(st.lists(row, min_size=n, max_size=n)))
    return Z, t, draw(st.integers(0, 3)), draw(st.permutations(range(n)))


@pytest.mark.parametrize("method", ["kmeans", "agglomerative"])
@settings(deadline=None, max_examples=25)
@given(case=lists_of_classes())
def test_order_of_named_classes_does_not_matter(
    method: str, case: tuple[NDArray[np.float64], int, int, list[int]]
) -> None:
    Z, t, seed, order = case
    names = [f"class {i}" for i in range(len(Z))]
    tree = ClassHierarchy.from_semantics(Z, t, seed, names=names, method=method)
    moved = ClassHierarchy.from_semantics(
        Z[order], t, seed, names=[names[i] for i in order], method=method
    )
    assert tree.sizes == moved.sizes == layer_sizes(len(Z), t)
    for layer in range(1, tree.n_layers + 1):
        np.testing.assert_array_equal(tree.labels(layer)[order], moved.labels(layer))
        assert tree.prototypes(layer).tobytes() == moved.prototypes(layer).tobytes()


@pytest.mark.parametrize("seed", range(5))
def test_order_of_unnamed_classes_does_not_matter(seed: int) -> None:
    Z = vectors(90, 6, seed) + 1e6  # far from zero, where sums depend on their order
    order = np.random.default_rng(seed).permutation(90)
    tree, moved = (ClassHierarchy.from_semantics(x, 3) for x in (Z, Z[order]))
    for layer in range(1, tree.n_layers + 1):
        np.testing.assert_array_equal(tree.labels(layer)[order], moved.labels(layer))
        assert tree.prototypes(layer).tobytes() == moved.prototypes(layer).tobytes()


def test_nodes_are_numbered_by_their_smallest_class() -> None:
    Z = vectors(40, 3)
    tree = ClassHierarchy.from_semantics(Z, 2)
    for layer in range(1, tree.n_layers + 1):
        smallest = [
            min(map(tuple, Z[tree.members(layer, i)])) for i in range(tree.sizes[layer - 1])
        ]
        assert smallest == sorted(smallest)


def test_same_seed_same_tree_in_another_process_with_other_threads() -> None:
    program = (
        "import sys, numpy as np; from zerokin.hierarchy import ClassHierarchy\n"
        "Z = np.random.default_rng(3).normal(size=(160, 20))\n"
        "tree = ClassHierarchy.from_semantics(Z, 2, 5)\n"
        "for l in range(tree.n_layers + 1):\n"
        "    sys.stdout.write(tree.labels(l).tobytes().hex() + tree.prototypes(l).tobytes().hex())"
    )
    source = str(Path(__file__).parents[1] / "src")
    there = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": source, "OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "4"},
        capture_output=True,
        check=True,
    ).stdout
    tree = ClassHierarchy.from_semantics(np.random.default_rng(3).normal(size=(160, 20)), 2, 5)
    here = "".join(
        tree.labels(layer).tobytes().hex() + tree.prototypes(layer).tobytes().hex()
        for layer in range(tree.n_layers + 1)
    )
    assert here.encode() == there


def test_seeds_matter() -> None:
    Z = vectors(60, 5)
    partitions = {
        frozenset(groups(ClassHierarchy.from_semantics(Z, 3, seed).labels(1))) for seed in range(6)
    }
    assert len(partitions) > 1


@pytest.mark.parametrize("method", ["kmeans", "agglomerative"])
@pytest.mark.parametrize("n_distinct", [1, 2, 5, 11, 24])
def test_duplicates_leave_no_node_empty(method: str, n_distinct: int) -> None:
    Z = vectors(n_distinct, 3)[np.arange(25) % n_distinct]
    tree = ClassHierarchy.from_semantics(Z, 2, method=method)
    assert tree.sizes == [12, 6, 3]
    for layer, size in enumerate(tree.sizes, start=1):
        assert (np.bincount(tree.labels(layer), minlength=size) > 0).all()
    if n_distinct >= 12:
        for i, j in combinations(range(25), 2):
            if (Z[i] == Z[j]).all():
                assert tree.labels(1)[i] == tree.labels(1)[j]


@pytest.mark.parametrize("method", ["kmeans", "agglomerative"])
def test_vectors_whose_distances_vanish_leave_no_node_empty(method: str) -> None:
    # All rows differ, but the squares of their differences are too small for floats.
    Z = np.stack([np.ones(20), np.arange(20) * 1e-180], axis=1)
    assert ClassHierarchy.from_semantics(Z, 2, method=method).sizes == [10, 5, 2]


def test_an_empty_cluster_gets_the_point_farthest_from_its_center() -> None:
    points = np.array([[0.0, 3], [1, 3], [-4, -1], [9, 9], [9.5, 9], [9, 9.3]])
    labels = np.array([0, 0, 0, 2, 2, 2])
    centers = np.array([points[labels == label].mean(axis=0) for label in labels])
    farthest = np.linalg.norm(points - centers, axis=1).argmax()
    filled = clustering._fill_empty(points, labels, 3)
    assert np.flatnonzero(filled == filled[farthest]).tolist() == [farthest]
    assert sorted(set(filled.tolist())) == [0, 1, 2]


def test_kmeans_runs_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    # Several threads would add up centers in whatever order they finish.
    import sklearn.cluster
    from threadpoolctl import threadpool_info, threadpool_limits

    threads: set[int] = set()

    class Watched(sklearn.cluster.KMeans):
        def fit(self, *args: object, **options: object) -> Watched:
            threads.update(pool["num_threads"] for pool in threadpool_info())
            return super().fit(*args, **options)

    monkeypatch.setattr(sklearn.cluster, "KMeans", Watched)
    with threadpool_limits(limits=2):
        ClassHierarchy.from_semantics(vectors(9, 2), 2)
    assert threads == {1}


def test_negative_zero_is_zero() -> None:
    Z = vectors(9, 2)
    Z[3, 0] = 0.0
    signed = Z.copy()
    signed[3, 0] = -0.0
    one, other = (ClassHierarchy.from_semantics(x, 2).prototypes(0) for x in (Z, signed))
    assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_very_small_and_very_large_vectors_cluster_alike(scale: float) -> None:
    Z = np.array([[0.0], [1.0], [10.0], [11.0], [30.0], [31.0], [40.0], [41.0]])
    tree = ClassHierarchy.from_semantics(Z * scale, 2)
    np.testing.assert_array_equal(tree.labels(1), [0, 0, 1, 1, 2, 2, 3, 3])
    np.testing.assert_array_equal(tree.labels(2), [0, 0, 0, 0, 1, 1, 1, 1])


@pytest.mark.parametrize(
    ("Z", "message"),
    [
        ([[0.0, 1.0], [np.nan, 2.0], [1, 1], [2, 2]], "class 1 holds nan at position 0"),
        ([[0.0, np.inf], [1.0, 2.0], [1, 1], [2, 2]], "class 0 holds inf at position 1"),
        (np.zeros(5), r"shape \(5,\)"),
        (np.zeros((5, 0)), r"shape \(5, 0\)"),
        (np.zeros((5, 2, 2)), r"shape \(5, 2, 2\)"),
        ([[1.0, 2.0], [3.0]], "rows of equal length"),
        ([["a", "b"]] * 4, "must be numbers"),
        (np.full((5, 1), 1e308), "too large to average"),
    ],
)
def test_unusable_vectors_are_refused(Z: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        ClassHierarchy.from_semantics(Z)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": ["a", "b", "c"]}, "3 names were given for 4 classes"),
        ({"names": ["a", "b", "c", "a"]}, "'a' stands at 0 and at 3"),
        ({"names": ["a", "b", "c", " "]}, "class 3 is ' '"),
        ({"names": "abcd"}, "single word 'abcd'"),
        ({"method": "k-means"}, "unknown clustering method 'k-means'; did you mean 'kmeans'"),
        ({"random_state": -1}, "random_state is -1"),
        ({"random_state": 0.5}, "random_state is 0.5"),
        ({"branching": 3}, "4 classes are too few for branching 3"),
    ],
)
def test_unusable_arguments_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        ClassHierarchy.from_semantics(vectors(4, 2), **options)


def test_the_callers_array_is_neither_kept_nor_changed() -> None:
    Z = vectors(9, 2)
    before = Z.copy()
    tree = ClassHierarchy.from_semantics(Z, 2)
    np.testing.assert_array_equal(Z, before)
    Z[:] = 0.0
    np.testing.assert_array_equal(tree.prototypes(0), before)
