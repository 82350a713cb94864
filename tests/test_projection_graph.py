"""The neighbor graph against brute force and SciPy's own Laplacian."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph

from zerokin.errors import InvalidInput
from zerokin.projection import nearest_neighbors, neighbor_graph, neighbors, normalized_laplacian


def cosines(F):
    F = np.asarray(F, dtype=np.float64)
    length = np.linalg.norm(F, axis=1, keepdims=True)
    unit = np.divide(F, length, out=np.zeros_like(F), where=length > 0)
    return unit @ unit.T


def brute_force(F, k):
    similarity = cosines(F).round(12)
    np.fill_diagonal(similarity, -np.inf)
    near = np.argsort(-similarity, axis=1, kind="stable")[:, :k]
    return near, np.take_along_axis(similarity, near, axis=1)


def clustered(n=300, d=20, *, classes=12, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(classes, d))[rng.integers(classes, size=n)] + rng.normal(size=(n, d))


@pytest.mark.parametrize("device", ["cpu", "torch:cpu"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_neighbors_equal_brute_force(dtype, device):
    F = clustered().astype(dtype)
    near, similarity = nearest_neighbors(F, 7, device=device)
    expected, cosine = brute_force(F, 7)
    np.testing.assert_array_equal(near, expected)
    np.testing.assert_allclose(similarity, cosine, atol=2e-12)


@pytest.mark.parametrize("seed", range(8))
def test_neighbors_of_drawn_sizes_in_drawn_blocks(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(20, 700)), int(rng.integers(1, 30))
    F = clustered(n, int(rng.integers(2, 40)), seed=seed)
    F[rng.integers(n, size=n // 3)] = F[0]  # crowds of equal rows, beside some zeros
    F[rng.integers(n, size=n // 9)] = 0
    k = min(k, n - 1)
    monkeypatch.setattr(neighbors, "SCORE_BYTES", 4 * n * int(rng.integers(1, n)))
    near, similarity = nearest_neighbors(F, k)
    expected, cosine = brute_force(F, k)
    np.testing.assert_array_equal(near, expected)
    np.testing.assert_allclose(similarity, cosine, atol=2e-12)


@pytest.mark.parametrize("many", [40, 41])
def test_only_a_long_search_shows_its_progress(many, monkeypatch):
    told = []

    def track(blocks, *words, quiet, **options):
        told.append(quiet)
        return blocks

    monkeypatch.setattr(neighbors, "track", track)
    monkeypatch.setattr(neighbors, "MANY", many)
    nearest_neighbors(clustered(40), 3)
    assert told == [many > 40]


def test_blocks_and_scale_of_rows_do_not_matter(monkeypatch):
    F = clustered()
    whole = nearest_neighbors(F, 5)
    monkeypatch.setattr(neighbors, "SCORE_BYTES", 4 * len(F) * 7)  # seven rows a block
    scaled = F * np.geomspace(1e-20, 1e20, len(F))[:, None]
    for one, other in zip(whole, nearest_neighbors(scaled, 5), strict=True):
        np.testing.assert_array_equal(one, other)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 40),
    st.integers(1, 3),
    st.integers(1, 12),
    st.integers(0, 10_000),
    st.sampled_from(["cpu", "torch:cpu"]),
)
def test_ties_duplicates_and_zero_rows_go_to_the_lower_index(n, d, k, seed, device):
    F = np.random.default_rng(seed).integers(-1, 2, size=(n, d)).astype(float)
    k = min(k, n - 1)
    near, similarity = nearest_neighbors(F, k, device=device)
    expected, cosine = brute_force(F, k)
    np.testing.assert_array_equal(near, expected)
    np.testing.assert_allclose(similarity, cosine, atol=2e-12)


def test_many_duplicates_take_the_exact_route():
    F = np.repeat(clustered(6, 5), 200, axis=0)[np.random.default_rng(1).permutation(1200)]
    near, similarity = nearest_neighbors(F, 10)
    np.testing.assert_array_equal(near, brute_force(F, 10)[0])
    assert np.all(similarity == 1)
    laplacian = normalized_laplacian(neighbor_graph(F, 10))
    assert np.isfinite(laplacian.data).all()


@pytest.mark.parametrize("weights", ["cosine", "heat"])
def test_graph_links_either_ones_neighbors(weights):
    F = clustered()
    graph = neighbor_graph(F, 6, weights=weights).toarray()
    near, _ = brute_force(F, 6)
    linked = np.zeros(graph.shape, bool)
    np.put_along_axis(linked, near, True, axis=1)
    linked |= linked.T
    np.testing.assert_array_equal(graph > 0, linked & (cosines(F) > 0))
    np.testing.assert_array_equal(graph, graph.T)
    if weights == "cosine":
        expected = cosines(F)
    else:
        distance = 2 - 2 * cosines(F)
        expected = np.exp(-distance / distance[graph > 0].mean())
    np.testing.assert_allclose(graph[graph > 0], expected[graph > 0], atol=1e-11)


def test_laplacian_equals_scipys_and_is_exactly_symmetric():
    F = clustered()
    F[[3, 70]] = 0  # rows without any neighbor
    graph = neighbor_graph(F, 6)
    laplacian = normalized_laplacian(graph)
    expected = csgraph.laplacian(graph, normed=True)
    np.testing.assert_allclose(laplacian.toarray(), expected.toarray(), atol=1e-14)
    assert (laplacian != laplacian.T).nnz == 0
    assert isinstance(laplacian, sp.csr_array)
    assert not laplacian.toarray()[[3, 70]].any()
    values = np.linalg.eigvalsh(laplacian.toarray())
    assert values.min() > -1e-12
    assert values.max() < 2 + 1e-12


def test_more_neighbors_than_samples_means_all_of_them():
    near, _ = nearest_neighbors(np.eye(3) + 0.1, 10)
    assert near.shape == (3, 2)
    assert neighbor_graph(np.ones((1, 4)), 10).nnz == 0


def test_heat_of_duplicates_alone_is_one():
    graph = neighbor_graph(np.ones((4, 3)), 2, weights="heat").toarray()
    assert set(graph.ravel().tolist()) == {0.0, 1.0}
    assert neighbor_graph(np.zeros((4, 3)), 2, weights="heat").nnz == 0


def path_graph(n, weight=1.0):
    return sp.diags_array([np.full(n - 1, weight)] * 2, offsets=[-1, 1])


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_symmetry_of_a_graph_is_judged_beside_its_largest_weight(scale):
    graph = scale * path_graph(5).toarray()
    graph[1, 2] *= 1 + 1e-7
    graph[3, 4] = graph[4, 3] = 1e-3 * scale
    laplacian = normalized_laplacian(sp.csr_array(graph)).toarray()
    degree = np.sqrt(graph.sum(axis=1))
    np.testing.assert_allclose(laplacian, np.eye(5) - graph / degree / degree[:, None], atol=1e-6)
    graph[1, 2] *= 1 + 1e-5
    with pytest.raises(InvalidInput, match=r"symmetric: give graph.maximum\(graph.T\)"):
        normalized_laplacian(sp.csr_array(graph))


@pytest.mark.parametrize("kind", [np.int64, np.uint8, bool, np.float32])
def test_graphs_of_any_numbers_and_empty_ones_have_a_laplacian(kind):
    graph = sp.csr_array(path_graph(4).astype(kind))
    expected = csgraph.laplacian(graph.astype(float), normed=True).toarray()
    np.testing.assert_allclose(normalized_laplacian(graph).toarray(), expected, atol=1e-14)
    assert normalized_laplacian(sp.csr_array((3, 3), dtype=kind)).nnz == 0
    graph.data[graph.indices == 3] = 0  # a link of no weight, written down on either side
    graph[[3], [2]] = 0
    assert not normalized_laplacian(graph).toarray()[3].any()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("none", "graph must be a sparse array"),
        (sp.csr_array(np.ones((2, 3))), r"numbers in shape \(N, N\): got float64 of shape"),
        (sp.coo_array(np.ones(3)), r"numbers in shape \(N, N\)"),
        (sp.csr_array(np.ones((2, 2)) * 1j), r"numbers in shape \(N, N\): got complex128"),
        (sp.csr_array(-np.ones((2, 2))), "finite and 0 or more"),
        (sp.csr_array(np.array([[0.0, -1.0], [-1.0, 2.0]])), "finite and 0 or more"),
        (sp.csr_array(np.full((2, 2), np.inf)), "finite and 0 or more"),
    ],
)
def test_what_is_no_graph_is_named(wrong, message):
    with pytest.raises(InvalidInput, match=message):
        normalized_laplacian(wrong)


@pytest.mark.parametrize("k", [0, -1, 2.5, "three"])
def test_a_wrong_number_of_neighbors_is_named(k):
    with pytest.raises(InvalidInput, match="n_neighbors must be a whole number from 1: got"):
        nearest_neighbors(np.eye(3), k)


def test_unknown_weights_and_devices_are_named():
    with pytest.raises(
        InvalidInput, match=r"weights must be one of .*: got 'cosin'.*did you mean 'cosine'"
    ):
        neighbor_graph(np.eye(3), 1, weights="cosin")
    for device in ("nonsense", "cuda:99"):
        with pytest.raises(InvalidInput, match=f"device='{device}' cannot be used"):
            nearest_neighbors(np.eye(3), 1, device=device)
